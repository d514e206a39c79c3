"""Reads Pods as kubectl prints them, in a List or as separate documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.errors import UsageError
from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.tools.status.declared_state import DeclaredState, format_value, parse_phase
from podplan.tools.status.replica_matcher import (
    ReplicaNames,
    explain_unknown_name,
    find_generated,
    find_pod_position,
)
from podplan.tools.status.replicas import ENDED_PHASES, ContainerState
from podplan.yaml import Document

POD_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
_ORDINARY_REASONS = ("Error", "Completed")  # reasons that add nothing to the exit code
_STARTING_REASONS = ("ContainerCreating", "PodInitializing")  # of containers that wait for nothing special


_TRY_ORDER = {"Succeeded": 1, "Failed": 2, "Deleted": 3}  # after Pods that wait or run


def parse_pods(
    document: Document,
    replica_names: ReplicaNames,
    job_name: str,
    training_names: Sequence[str],
    owner_label: str,
) -> Iterator[DeclaredState]:
    """Yield the states of the Pods of a document; Pods of other jobs and other objects are skipped.

    ``training_names`` are the names of the training containers, by position, and ``owner_label`` is the label
    of a Pod with the name of its job.

    Raises UsageError: for an invalid Pod.
    """
    tries: dict[tuple[int, ...], list[tuple[str, DeclaredState]]] = {}
    for path, data in _iter_pods(document.data, ()):
        name = get_text(get_mapping(data, "metadata"), "name")
        position = find_pod_position(replica_names, name)
        if position is not None:
            state = _build_declared_state(document, path, data, position, training_names[position])
            if positions := find_generated(replica_names, name):
                created = get_text(get_mapping(data, "metadata"), "creationTimestamp")
                tries.setdefault(tuple(positions), []).append((created, state))
            else:
                yield state
        elif not _is_foreign(get_mapping(data, "metadata"), job_name, owner_label):
            name_location = _format_location(document, (*path, "metadata", "name"))
            raise UsageError(
                f"{name_location}:"
                f" {explain_unknown_name(replica_names, name) if name else 'this Pod has no name'}"
            )
    for positions, states in tries.items():
        yield from _merge_tries(positions, states)


def _merge_tries(
    positions: Sequence[int], tries: Sequence[tuple[str, DeclaredState]]
) -> Iterator[DeclaredState]:
    """Yield the states of replicas of a Job: failed Pods remain next to their replacements.

    The latest Pod that has not failed decides; each other one is a restart.
    """
    latest_first = sorted(tries, key=lambda one: one[0], reverse=True)
    ordered = [one for _, one in sorted(latest_first, key=lambda one: _TRY_ORDER.get(one[1].phase, 0))]
    earlier = sum(one.phase == "Failed" for one in ordered[len(positions) :])
    for number, (position, state) in enumerate(zip(positions, ordered, strict=False)):
        yield state._replace(positions=[position], restarts=0 if number else earlier)


def _format_location(document: Document, path: Path) -> str:
    span = document.span(path)
    return f"{document.file}:{span.line}:{span.column}"


def _iter_pods(data: dict[str, Any], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the Pods of a document with their paths; entries of a PodList need no kind."""
    kind = get_text(data, "kind")
    if kind == "Pod":
        yield path, data
    elif kind in ("List", "PodList"):
        for index, entry in get_entries(data, "items"):
            if get_text(entry, "kind") == "Pod" or (kind == "PodList" and "kind" not in entry):
                yield (*path, "items", index), entry


def _is_foreign(metadata: Mapping[str, Any], job: str, owner_label: str) -> bool:
    """Whether a Pod has another owner, or none although it is from an API server, which sets the uid."""
    label = get_text(get_mapping(metadata, "labels"), owner_label)
    owners = [get_text(owner, "name") for _, owner in get_entries(metadata, "ownerReferences")]
    return bool(label or owners or get_text(metadata, "uid")) and job not in (label, *owners)


def _build_declared_state(
    document: Document, path: Path, data: dict[str, Any], position: int, training_name: str
) -> DeclaredState:
    metadata, status = get_mapping(data, "metadata"), get_mapping(data, "status")
    written_phase = status.get("phase")
    phase_at = _format_location(document, (*path, "status", "phase"))
    phase = "Creating" if written_phase is None else parse_phase(written_phase, POD_PHASES, phase_at)
    if metadata.get("deletionTimestamp") is not None and phase not in ENDED_PHASES:
        phase = "Deleted"
    containers, inits = (
        tuple(
            _parse_container(one, _format_location(document, (*path, "status", key, i)))
            for i, one in get_entries(status, key)
        )
        for key in ("containerStatuses", "initContainerStatuses")
    )
    failed = _find_failed_container(containers, inits, training_name) if phase == "Failed" else None
    reason = get_text(status, "reason") or (failed.reason if failed else _find_waiting_reason(status))
    return DeclaredState(
        [position],
        _format_location(document, (*path, "metadata", "name")),
        True,
        phase,
        failed.exit_code if failed else None,
        reason,
        containers,
        get_text(metadata, "name"),
        get_text(metadata, "uid"),
    )


def _find_waiting_reason(status: Mapping[str, Any]) -> str:
    """Return why a container of a Pod waits, such as ImagePullBackOff; "" if the reason is normal."""
    for key in ("initContainerStatuses", "containerStatuses"):
        for _, one in get_entries(status, key):
            reason = get_text(get_mapping(get_mapping(one, "state"), "waiting"), "reason")
            if reason and reason not in _STARTING_REASONS:
                return reason
    return ""


def _parse_container(status: Mapping[str, Any], location: str) -> ContainerState:
    state, name = get_mapping(status, "state"), get_text(status, "name")
    if "terminated" not in state:
        return ContainerState(name, "Running" if "running" in state else "Waiting")
    terminated = get_mapping(state, "terminated")
    code, reason = terminated.get("exitCode"), get_text(terminated, "reason")
    if not isinstance(code, int) or isinstance(code, bool):
        raise UsageError(
            f"{location}: a container that has terminated wants an exitCode, not {format_value(code)}"
        )
    return ContainerState(name, "Terminated", code, "" if reason in _ORDINARY_REASONS else reason)


def _find_failed_container(
    containers: Sequence[ContainerState], init_containers: Sequence[ContainerState], training_name: str
) -> ContainerState | None:
    """Return the container that made a Pod fail: the training container, else the first that failed."""
    failed = [one for one in (*containers, *init_containers) if one.exit_code]
    return next((one for one in failed if one.name == training_name), failed[0] if failed else None)
