"""Pods as kubectl prints them, in a List or as documents of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.errors import RequestError
from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.tools.status.declared_state import Told, demand_phase, shown
from podplan.tools.status.replica_matcher import Names, pod, unknown
from podplan.tools.status.replicas import ENDED, Container
from podplan.yaml import Document

OWNER = "tensorstack.dev/owner-name"
PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
_ORDINARY = ("Error", "Completed")  # reasons that say no more than the exit code


def of_pods(document: Document, known: Names, job: str, training: Sequence[str]) -> Iterator[Told]:
    """What the Pods of a document say; those of other jobs, and what is no Pod, are passed over.

    ``training`` are the names of the containers that train, by position. Raises RequestError.
    """
    for path, data in _objects(document.data, ()):
        position = pod(known, text(mapping(data, "metadata"), "name"))
        if position is not None:
            yield _told(document, path, data, position, training[position])
        elif not _is_of_another(mapping(data, "metadata"), job):
            name = text(mapping(data, "metadata"), "name")
            at = _place(document, (*path, "metadata", "name"))
            raise RequestError(f"{at}: {unknown(known, name) if name else 'this Pod has no name'}")


def _place(document: Document, path: Path) -> str:
    span = document.span(path)
    return f"{document.file}:{span.line}:{span.column}"


def _objects(data: dict[str, Any], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The Pods of a document with their paths; entries of a PodList need not say what they are."""
    kind = text(data, "kind")
    if kind == "Pod":
        yield path, data
    elif kind in ("List", "PodList"):
        for index, entry in entries(data, "items"):
            if text(entry, "kind") == "Pod" or (kind == "PodList" and "kind" not in entry):
                yield (*path, "items", index), entry


def _is_of_another(metadata: Mapping[str, Any], job: str) -> bool:
    """Whether a Pod says that it belongs to another job, or to something else that owns it."""
    label = text(mapping(metadata, "labels"), OWNER)
    owners = [text(owner, "name") for _, owner in entries(metadata, "ownerReferences")]
    return bool(label or owners) and job not in (label, *owners)


def _told(document: Document, path: Path, data: dict[str, Any], position: int, training: str) -> Told:
    metadata, status = mapping(data, "metadata"), mapping(data, "status")
    written = status.get("phase")
    phase_at = _place(document, (*path, "status", "phase"))
    phase = "Creating" if written is None else demand_phase(written, PHASES, phase_at)
    if metadata.get("deletionTimestamp") is not None and phase not in ENDED:
        phase = "Deleted"
    containers, inits = (
        tuple(_container(one, _place(document, (*path, "status", key, i))) for i, one in entries(status, key))
        for key in ("containerStatuses", "initContainerStatuses")
    )
    failed = _failed(containers, inits, training) if phase == "Failed" else None
    reason = text(status, "reason") or (failed.reason if failed else "")
    return Told(
        [position],
        _place(document, (*path, "metadata", "name")),
        True,
        phase,
        failed.code if failed else None,
        reason,
        containers,
        text(metadata, "name"),
        text(metadata, "uid"),
    )


def _container(status: Mapping[str, Any], place: str) -> Container:
    state, name = mapping(status, "state"), text(status, "name")
    if "terminated" not in state:
        return Container(name, "Running" if "running" in state else "Waiting")
    ended = mapping(state, "terminated")
    code, reason = ended.get("exitCode"), text(ended, "reason")
    if not isinstance(code, int) or isinstance(code, bool):
        raise RequestError(f"{place}: a container that has terminated wants an exitCode, not {shown(code)}")
    return Container(name, "Terminated", code, "" if reason in _ORDINARY else reason)


def _failed(containers: Sequence[Container], inits: Sequence[Container], training: str) -> Container | None:
    """The container by which a Pod failed: the one that trains, else the first that did not end with 0."""
    failed = [one for one in (*containers, *inits) if one.code]
    return next((one for one in failed if one.name == training), failed[0] if failed else None)
