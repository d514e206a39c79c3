"""Settings with which a job never runs or never ends, and settings without effect.

Source: docs/evidence/training-operator.md#jobs-that-hang-or-crash-the-operator and the sections beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

from podplan.core.findings import Path, value_at
from podplan.core.suggestions import suggest_name
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kinds.spec import KindSpec, find_named_manager
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.analysis.jobs import (
    count_pods,
    count_pods_and_gpus,
    find_gpu_pods,
    find_kind_spec,
    find_pod_group,
    find_written_path,
    format_list,
    get_replica_specs,
    has_trait,
    spec_of,
)
from podplan.lint.checks.registration import check
from podplan.lint.checks.restarts import find_pod_restart_policy
from podplan.lint.target import Target, Violation

_POLICY: Path = ("spec", "runPolicy")
_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
# For each policy: its path, the values that the controller supports, and the effect of others.
_CHECKED_POLICIES: tuple[tuple[Path, tuple[str, ...], str], ...] = (
    (
        (*_POLICY, "cleanPodPolicy"),
        ("None", "Running", "All"),
        "the controller deletes all Pods, as with All",
    ),
    (("spec", "successPolicy"), ("", "AllWorkers"), "the controller ignores it"),
)
# The operator of kinds with this trait validates the policies above itself.
_OPERATOR_TRAIT = "hostfile"
_OPERATOR_POLICIES: tuple[tuple[Path, tuple[str, ...], str], ...] = (
    (
        ("spec", "launcherCreationPolicy"),
        ("AtStartup", "WaitForWorkersReady"),
        "the operator waits for the workers, as with WaitForWorkersReady",
    ),
)


@check()
def exit_code_without_limit(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A restart policy ExitCode in a job without a deadline. Value ``type``."""
    if "activeDeadlineSeconds" in get_mapping(spec_of(target.job), "runPolicy"):
        return
    for replica_spec in _iter_exit_code(target):
        yield Violation((*replica_spec.path, "restartPolicy"), {"type": replica_spec.type})


@check()
def exit_code_waits(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A restart policy ExitCode that nothing implements. Value ``type``."""
    for replica_spec in _iter_exit_code(target):
        yield Violation((*replica_spec.path, "restartPolicy"), {"type": replica_spec.type})


def _iter_exit_code(target: Target) -> Iterator[Any]:
    return (one for one in get_replica_specs(target.job) if one.data.get("restartPolicy") == "ExitCode")


@check()
def restarts_without_limit(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Replicas with GPUs that are restarted as often as they fail.

    Values: ``types``, ``policy``, ``gpus``.
    """
    job, policy = target.job, get_mapping(spec_of(target.job), "runPolicy")
    if "backoffLimit" in policy or "activeDeadlineSeconds" in policy:
        return
    gpu_count = count_pods_and_gpus(find_gpu_pods(job))[1]
    restarted = [
        one
        for one in get_replica_specs(job)
        if find_pod_restart_policy(job, one.type) in ("OnFailure", "Always")
    ]
    if gpu_count and restarted:
        path = find_written_path(target.data, *restarted[0].path, "restartPolicy")
        types = format_list([one.type for one in restarted])
        values = {
            "types": f"{types} {'is' if len(restarted) == 1 else 'are'}",
            "policy": find_pod_restart_policy(job, restarted[0].type),
            "gpus": format_count(gpu_count, "GPU"),
        }
        yield Violation(path, values)


@check()
def no_replica_types(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A job without any replica type. Value ``field``."""
    kind_spec = find_kind_spec(target.job)
    if kind_spec is None or get_replica_specs(target.job):
        return
    path = kind_spec.replica_types[0].path
    yield Violation(find_written_path(target.data, *path), {"field": path[-1]})


@check()
def no_workers_by_default(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Workers without a number of replicas."""
    for replica_spec in get_replica_specs(target.job):
        if replica_spec.type == "Worker" and replica_spec.data.get("replicas") is None:
            yield Violation(replica_spec.path)


@check()
def unknown_policy(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A policy with a value that does not exist. Values: ``field``, ``value``, ``known``, ``effect``."""
    is_operator = has_trait(target.job, _OPERATOR_TRAIT)
    for path, known, effect in _OPERATOR_POLICIES if is_operator else _CHECKED_POLICIES:
        value = value_at(target.data, path)
        if isinstance(value, str) and value not in known:
            names = " or ".join(one for one in known if one)
            yield Violation(path, {"field": path[-1], "value": value, "known": names, "effect": effect})


@check()
def unknown_task_type(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A replica type that the controller does not support, or drops. Values: ``type``, ``problem``."""
    kind_spec = find_kind_spec(target.job)
    known = kind_spec.known_replica_types if kind_spec is not None else ()
    spellings = {name.lower() for name in known}
    replica_specs = get_replica_specs(target.job)
    for replica_spec in replica_specs:
        written = replica_spec.type
        others = [one.type for one in replica_specs if one.type != written]
        same = next((name for name in others if name.lower() == written.lower()), "")
        if written.lower() not in spellings:
            hint = suggest_name(written, list(known))
            hint_text = f"did you mean {hint}? " if hint else ""
            problem = f"does not exist; {hint_text}the types are {', '.join(known)}"
        elif written in known and same:
            problem = f"has no effect: {same} is the same type, and the controller takes that one"
        else:
            continue
        yield Violation(replica_spec.path, {"type": written, "problem": problem})


@check()
def several_single_replicas(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Several replicas of a type of which the program accepts one. Values: ``type``, ``replicas``."""
    kind_spec = find_kind_spec(target.job)
    single_types = kind_spec.single_replica_types if kind_spec is not None else ()
    for replica_spec in get_replica_specs(target.job):
        replicas = replica_spec.data.get("replicas")
        if replica_spec.type in single_types and isinstance(replicas, int) and replicas > 1:
            yield Violation(
                (*replica_spec.path, "replicas"), {"type": replica_spec.type, "replicas": replicas}
            )


@check()
def fails_at_once(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A negative limit of restarts. Value ``limit``."""
    limit = get_mapping(spec_of(target.job), "runPolicy").get("backoffLimit")
    if isinstance(limit, int) and limit < 0:
        yield Violation((*_POLICY, "backoffLimit"), {"limit": limit})


@check()
def succeeds_at_once(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """No replicas of the type that decides over the job. Value ``type``."""
    kind_spec, replica_specs = find_kind_spec(target.job), get_replica_specs(target.job)
    main_types = kind_spec.main_replica_types if kind_spec is not None else ()
    has_main_type = any(one.type in main_types for one in replica_specs)
    for replica_spec in replica_specs:
        decides = replica_spec.type in main_types or (not has_main_type and replica_spec.type == "Worker")
        if decides and replica_spec.data.get("replicas") == 0:
            yield Violation((*replica_spec.path, "replicas"), {"type": replica_spec.type})


@check()
def no_gang_scheduler(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A scheduling policy of a job that gets no PodGroup. Value ``fields``."""
    policy = get_mapping(get_mapping(spec_of(target.job), "runPolicy"), "schedulingPolicy")
    if policy and count_pods(target.job) and find_pod_group(target.job) is None:
        yield Violation((*_POLICY, "schedulingPolicy"), {"fields": ", ".join(policy)})


@check()
def suspended_in_git(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A job of a Kueue queue that is committed as suspended. Value ``queue``."""
    metadata = get_mapping(target.data, "metadata")
    kind_spec = find_kind_spec(target.job)
    path = kind_spec.run_policy_path if kind_spec is not None else ()
    policy = reduce(get_mapping, map(str, path), target.data)
    is_applied_again = bool(metadata.get("name"))  # with a generateName each job is a new one
    label: Path = ("metadata", "labels", _QUEUE_LABEL)
    if not get_mapping(metadata, "labels") and _takes_labels_of_template(kind_spec):
        label = ("spec", "template", *label)
    queue = value_at(target.data, label)
    if policy.get("suspend") is True and queue and is_applied_again:
        yield Violation((*path, "suspend"), {"queue": queue}, [(target.doc, label, "the queue")])


def _takes_labels_of_template(kind_spec: KindSpec | None) -> bool:
    """Whether the API server copies the labels of the Pod template to a job without labels."""
    load = kind_spec.load_queue_integration if kind_spec is not None else None
    return load is not None and load().takes_labels_of_template


@check()
def unknown_manager(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A controller that does not run the job. Values: ``manager``, ``known``, ``effect``."""
    kind_spec = find_kind_spec(target.job)
    if kind_spec is None:
        return
    known, effect = kind_spec.managers, "which no controller is: nothing ever happens to the job"
    if has_trait(target.job, "manager-ignored"):
        known, effect = known[:1], "which the operator does not read: it runs the job all the same"
    manager = find_named_manager(kind_spec, target.data)
    if manager and manager not in known:
        values = {"manager": manager, "known": " or ".join(known), "effect": effect}
        yield Violation((*kind_spec.run_policy_path, "managedBy"), values)
