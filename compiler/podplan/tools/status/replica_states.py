"""Applies declared states from a file and from flags to the replicas of a job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.errors import UsageError
from podplan.core.findings import Severity
from podplan.core.replica_groups import ReplicaGroup
from podplan.tools.status.declared_state import DeclaredState
from podplan.tools.status.kubectl_list import parse_pods
from podplan.tools.status.replica_matcher import ReplicaNames, index_replica_names
from podplan.tools.status.replicas import ObservedReplica, build_container_states, find_training_name
from podplan.tools.status.shorthand import parse_flags, parse_lines
from podplan.yaml import SourceFile


def apply_declared_states(
    job: str,
    groups: Sequence[ReplicaGroup],
    replicas: list[ObservedReplica],
    source: SourceFile | None,
    pod_flags: Sequence[str],
    owner_label: str,
) -> list[ObservedReplica]:
    """Return ``replicas`` in the states of ``source`` and ``--pod NAME=STATE`` flags; flags and exact states
    win.

    ``groups`` are the lowered objects of the job ``job``; ``owner_label`` is the label of its Pods with its
    name.

    Raises UsageError: with the location of an invalid state.
    """
    replica_names = index_replica_names(job, replicas)
    pods = {group.replica_type: group for group in groups if group.doc.data["kind"] == "Pod"}
    training_names = [find_training_name(pods[one.type]) for one in replicas]
    states = list(replicas)
    for declared_states in (
        _iter_file_states(source, replica_names, job, training_names, owner_label) if source else (),
        parse_flags(pod_flags, replica_names),
    ):
        for declared in sorted(
            _require_single_state(declared_states, replicas), key=lambda one: one.is_exact
        ):
            for position in declared.positions:
                states[position] = _merge_state(states[position], declared, pods[states[position].type])
    return _unify_names(job, states)


def _unify_names(job: str, states: list[ObservedReplica]) -> list[ObservedReplica]:
    """Return the replicas with the name suffix of the declared Pods for all Pods."""
    base_names = {one.name.removesuffix(f"-{one.short_name}") for one in states if one.is_declared}
    base = base_names.pop() if len(base_names) == 1 else job
    return [
        one
        if one.is_declared or one.name != f"{job}-{one.short_name}"
        else one._replace(name=f"{base}-{one.short_name}")
        for one in states
    ]


def _iter_file_states(
    source: SourceFile, replica_names: ReplicaNames, job: str, training_names: Sequence[str], owner_label: str
) -> Iterator[DeclaredState]:
    for fault in source.diagnostics:
        if BUILTIN_RULES[fault.rule].severity is Severity.ERROR:
            raise UsageError(f"{source.file}:{fault.span.line}:{fault.span.column}: {fault.message}")
    expected = "what kubectl get pods -o yaml prints, or lines such as worker-3: 137"
    if not source.documents:
        raise UsageError(f"{source.file}: this is empty; write {expected}")
    for document in source.documents:
        if not isinstance(document.data, dict):
            span = document.span(())
            raise UsageError(f"{source.file}:{span.line}:{span.column}: this is no state; write {expected}")
        if "kind" in document.data and "apiVersion" in document.data:
            yield from parse_pods(document, replica_names, job, training_names, owner_label)
        else:
            yield from parse_lines(document, replica_names)


def _require_single_state(
    declared_states: Iterable[DeclaredState], replicas: Sequence[ObservedReplica]
) -> Iterator[DeclaredState]:
    """Yield the states, which must not declare a replica twice. Raises UsageError: if one does."""
    location_by_state: dict[tuple[int, bool], str] = {}
    for declared in declared_states:
        for position in declared.positions:
            if (position, declared.is_exact) in location_by_state:
                other_location = location_by_state[position, declared.is_exact]
                raise UsageError(
                    f"{declared.location}: {replicas[position].short_name} is declared twice, also at"
                    f" {other_location}"
                )
            location_by_state[position, declared.is_exact] = declared.location
        yield declared


def _merge_state(replica: ObservedReplica, declared: DeclaredState, group: ReplicaGroup) -> ObservedReplica:
    return replica._replace(
        name=declared.name or replica.name,
        phase=declared.phase,
        exit_code=declared.exit_code,
        reason=declared.reason,
        containers=build_container_states(group, declared.phase, declared.exit_code)
        if declared.containers is None
        else declared.containers,
        uid=declared.uid,
        restarts=declared.restarts,
        is_declared=True,
    )
