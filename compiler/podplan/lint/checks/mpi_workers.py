"""Workers that mpirun cannot reach: without sshd, or already ended for kubectl exec.

Sources: docs/evidence/mpi-operator.md#pods, docs/evidence/training-operator.md#objects-of-mpijob.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_texts
from podplan.launchers.commands import MpirunCommand
from podplan.launchers.discovery import find_programs
from podplan.launchers.sshd import starts_sshd
from podplan.lint.analysis.jobs import find_kind_spec, has_trait, spec_of
from podplan.lint.analysis.launches import find_launches
from podplan.lint.checks.registration import check
from podplan.lint.checks.waits import waits_for_others
from podplan.lint.target import LoweredJob, Target, Violation

# Programs that are known to start no sshd. A script, or a program of the image, may start it.
_OTHER_PROGRAMS = frozenset(("mpirun", "mpiexec", "horovodrun", "python", "torchrun"))
WAITING_PROGRAMS = ("sleep", "tail")
_AT_STARTUP = "AtStartup"
# With and without ssh: the command of the controller, the effect, and the fix.
_EFFECTS = {
    True: {
        "own": "sshd",
        "effect": "mpirun cannot connect to it",
        "instead": "one that starts sshd, such as [/usr/sbin/sshd, -De]",
    },
    False: {
        "own": "waiting",
        "effect": "it works alone, and mpirun fails when it has ended",
        "instead": "one that waits, such as [sleep, 365d]",
    },
}
# sleep or tail, alone or with echo before it in a shell.
_WAITING_COMMAND = compile_lazily(
    r"(?:\S*sh -l?c )?(?:echo [\w .:]*(?:;|&&) *)*(?:exec )?(sleep|tail)(?: [\w./-]+)*"
)


@check()
def worker_without_sshd(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A command of workers that replaces the command of the controller.

    Values: ``type``, ``program``, ``own`` (what the controller starts), ``effect``, ``instead``.
    """
    has_ssh = has_trait(target.job, "ssh")
    for group in iter_worker_groups(target.job):
        containers = dict(get_entries(get_mapping(group.doc.data, "spec"), "containers"))
        index = group.training_container_index or 0
        container = containers.get(index)
        if container is None or starts_sshd(container):
            continue
        program = find_other_program(container)
        if program and (has_ssh or program not in WAITING_PROGRAMS):
            field = "command" if container.get("command") else "args"
            values = {"type": group.replica_type, "program": program, **_EFFECTS[has_ssh]}
            path = ("spec", "containers", index, field)
            yield Violation(path, values, doc=group.doc, group=group)


def find_other_program(container: Mapping[str, Any]) -> str:
    """Return the last program of a container that certainly starts no sshd; "" if any may."""
    programs = [
        "python" if one.launcher == "python" else one.program_word.base_name
        for one in find_programs(container).invocations
        if not one.started_by
    ]
    if not programs:  # those that only wait are not listed
        words = [text for key in ("command", "args") for _, text in get_texts(container, key)]
        waits = _WAITING_COMMAND.fullmatch(" ".join(words))
        return waits[1] if waits is not None else ""
    return programs[-1] if all(name in _OTHER_PROGRAMS for name in programs) else ""


def iter_worker_groups(job: LoweredJob) -> Iterator[Any]:
    """Yield the Pods of the replica types that do not decide over the job."""
    kind_spec = find_kind_spec(job)
    main_types = kind_spec.main_replica_types if kind_spec is not None else ()
    return (group for group in job.pods if group.replica_type not in main_types)


@check()
def launcher_has_one_try(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A launcher that starts with the workers and may fail only once. Values: none."""
    spec = spec_of(target.job)
    limit = get_mapping(spec, "runPolicy").get("backoffLimit")
    waits = spec.get("launcherCreationPolicy", _AT_STARTUP) != _AT_STARTUP or spec.get("runLauncherAsWorker")
    if limit != 0 or isinstance(limit, bool) or waits or not any(iter_worker_groups(target.job)):
        return
    for launch in find_launches(target.job):
        pod = get_mapping(launch.group.doc.data, "spec")
        if isinstance(launch.invocation.parsed, MpirunCommand) and not (
            pod.get("initContainers") or waits_for_others(launch.container)
        ):
            path = ("spec", "runPolicy", "backoffLimit")
            related = [(launch.group.doc, launch.locate_word(launch.invocation.program_word), "mpirun")]
            yield Violation(path, {}, related)
            return
