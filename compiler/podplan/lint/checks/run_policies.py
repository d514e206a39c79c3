"""Settings of a job by which it never runs, never ends, or has no effect that they seem to have.

Source: docs/evidence/training-operator.md#jobs-that-hang-or-crash-the-operator and the sections beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.analysis.jobs import count_pods, find_kind_spec, find_pod_group, get_replica_specs, spec_of
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_POLICY: Path = ("spec", "runPolicy")
_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_MANAGERS = ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue")


@check()
def exit_code_without_limit(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A restart policy ExitCode in a job without a deadline. Value ``type``."""
    if "activeDeadlineSeconds" in get_mapping(spec_of(target.job), "runPolicy"):
        return
    for replica_spec in _iter_exit_code(target):
        yield Violation((*replica_spec.path, "restartPolicy"), {"type": replica_spec.type})


@check()
def exit_code_waits(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A restart policy ExitCode that nothing acts on. Value ``type``."""
    for replica_spec in _iter_exit_code(target):
        yield Violation((*replica_spec.path, "restartPolicy"), {"type": replica_spec.type})


def _iter_exit_code(target: Target) -> Iterator[Any]:
    return (one for one in get_replica_specs(target.job) if one.data.get("restartPolicy") == "ExitCode")


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
    labels = get_mapping(get_mapping(target.data, "metadata"), "labels")
    kind_spec = find_kind_spec(target.job)
    path = kind_spec.run_policy_path if kind_spec is not None else ()
    policy = reduce(get_mapping, map(str, path), target.data)
    if policy.get("suspend") is True and _QUEUE_LABEL in labels:
        yield Violation((*path, "suspend"), {"queue": labels[_QUEUE_LABEL]})


@check()
def unknown_manager(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A controller that does not exist. Values: ``manager``, ``known``."""
    manager = get_mapping(spec_of(target.job), "runPolicy").get("managedBy")
    if isinstance(manager, str) and manager not in _MANAGERS:
        yield Violation((*_POLICY, "managedBy"), {"manager": manager, "known": " or ".join(_MANAGERS)})
