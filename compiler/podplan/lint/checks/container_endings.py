"""Containers that never end although the job waits for them, and daemons that end with their container.

Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, below
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers import endings
from podplan.lint.analysis.features import PYTHON_TEXT, list_features
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled, spec_of
from podplan.lint.analysis.processes import find_endless_process, process_of
from podplan.lint.analysis.resources import (
    count_accelerators,
    find_training_container,
    list_containers,
    list_init_containers,
)
from podplan.lint.checks.exit_statuses import command_name
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_AS_SIDECAR = (
    "move it to initContainers with restartPolicy: Always, which makes it a sidecar that ends with the Pod"
)
_IN_FRONT = "start it in the background with &, and the training in the foreground"
_NOTHING_BEHIND = "remove it"
_DEBUG_MODE = "; spec.runMode.debug keeps Pods for debugging"


@check()
def endless_container(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A container that never ends in a Pod that must complete; values ``what`` and ``instead``."""
    job = subject.job
    if is_mode_enabled(job, "debug") or is_mode_enabled(job, "pause"):
        return
    yield from _endless_in_success_rule(job)
    for group in job.pods:
        yield from _endless_init(group)
        if (
            _ends_job(job, group)
            and get_mapping(group.doc.data, "spec").get("shareProcessNamespace") is not True
        ):
            yield from _endless_app(job, group)


def _endless_in_success_rule(job: LoweredJob) -> Iterator[Violation]:
    """Yield a server among the replicas of a success rule, if no rule excludes servers."""
    rules = get_entries(spec_of(job), "successRules") if has_trait(job, "success-rules") else []
    servers = {}
    for group in job.pods if rules else ():
        main = find_training_container(group)
        endless = find_endless_process(main[1]) if main is not None else None
        if main is not None and endless is not None and not endless.after_training:
            servers[group.replica_type] = (group.doc, below(main[0], endless.words[0].place), endless.text)
        elif PYTHON_TEXT in list_features(job):
            from podplan.lint.checks.endless_scripts import find_endless_script

            joins = find_endless_script(job, group)
            if joins is not None:
                servers[group.replica_type] = (joins.doc, joins.path, f"{joins.text} in {joins.name}")
    if not servers or not all(
        servers.keys() & rule.keys() and rule.keys() - servers.keys() for _, rule in rules
    ):
        return
    for at, rule in rules:
        name = next(name for name in rule if name in servers)
        doc, place, text = servers[name]
        values = {
            "what": f'the success rule waits for "{name}", which never ends ("{text}"), so that the job keeps'
            " its GPUs when the others have finished",
            "instead": f"remove {name} from the rule; cleanUpPolicy ends it with the job",
        }
        related = [(doc, place, "what never ends")]
        yield Violation(("spec", "successRules", at, name), values, related, doc=job.cr)


def _endless_init(group: ReplicaGroup) -> Iterator[Violation]:
    for path, container in list_init_containers(group):
        endless = find_endless_process(container)
        if endless is not None and container.get("restartPolicy") != "Always":
            what = f'the init container "{get_text(container, "name")}" never ends ("{endless.text}")'
            values = {
                "what": f"{what}: the containers of the Pod never start",
                "instead": "set restartPolicy: Always, which makes it a sidecar",
            }
            yield Violation(below(path, endless.words[0].place), values, doc=group.doc, group=group)


def _endless_app(job: LoweredJob, group: ReplicaGroup) -> Iterator[Violation]:
    """Yield containers that outlive the training, or whose training ends with an endless command."""
    main = _find_main_container(group)
    found = {
        path: (get_text(container, "name"), find_endless_process(container))
        for path, container in list_containers(group)
    }
    _, of_main = found.get(main[0] if main is not None else (), ("", None))
    if of_main is not None and not of_main.after_training and not of_main.beside_training:
        return  # the Pod is a server, or a person works in it interactively
    for path, (name, endless) in found.items():
        if endless is None:
            continue
        what, instead = f'the container "{name}" never ends ("{endless.text}")', _AS_SIDECAR
        if endless is of_main and not endless.after_training:
            what, instead = f'"{endless.text}" never ends, and the training in the background does', _IN_FRONT
        elif endless is of_main:
            what, instead = f'"{endless.text}" after the training never ends', _NOTHING_BEHIND
            instead += _DEBUG_MODE if has_trait(job, "debug-mode") else ""
        what += ": the Pod does not complete after its training and keeps its GPUs"
        values = {"what": what, "instead": instead}
        yield Violation(below(path, endless.words[0].place), values, doc=group.doc, group=group)


def _find_main_container(group: ReplicaGroup) -> tuple[Path, Mapping[str, Any]] | None:
    """Return the container that trains: the only one with GPUs, or that which the controller takes for it."""
    with_gpus = [each for each in list_containers(group) if count_accelerators(each[1]).number]
    return with_gpus[0] if len(with_gpus) == 1 else find_training_container(group)


def _ends_job(job: LoweredJob, group: ReplicaGroup) -> bool:
    """Whether the job succeeds only when Pods of a group complete."""
    if has_trait(job, "servers") or get_mapping(spec_of(job), "successPolicy").get("rules"):
        return False  # some indexes of a Job decide
    if has_trait(job, "success-rules"):
        rules = [rule for _, rule in get_entries(spec_of(job), "successRules")]
        return not rules or any(group.replica_type in rule for rule in rules)
    if has_trait(job, "launcher-replica"):
        return group.replica_type == "launcher"
    return group is job.pods[0]


@check()
def daemon_as_main_process(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A container that only starts a daemon; values ``program`` and ``instead``."""
    daemon = endings.find_only_daemon(process_of(subject.data))
    if daemon is not None:
        values = {"program": command_name(daemon.words), "instead": daemon.instead}
        yield Violation(daemon.words[0].place, values)


@check()
def unreached_training(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A training behind a command that never ends. Values: ``program``, ``endless``."""
    if is_mode_enabled(subject.job, "debug"):
        return
    unreached = endings.find_unreached_training(process_of(subject.data))
    if unreached is not None:
        place = unreached.endless.words[0].place
        related = [(subject.doc, below(subject.base_path, unreached.words[0].place), "never starts")]
        values = {"program": command_name(unreached.words), "endless": unreached.endless.text}
        yield Violation(place, values, related)
