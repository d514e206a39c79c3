"""Observed states of Pods, in the forms in which people have them, as the replicas of a job.

kubectl's YAML (a List, or several documents), or a short map such as ``worker-3: {exitCode: 137}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from podplan.findings import Path, Severity
from podplan.groups import Group
from podplan.kubernetes.shape import entries, mapping, number, text
from podplan.nearest import meant_or_known
from podplan.requests import RequestError
from podplan.rules import RULES
from podplan.source import Document, Source
from podplan.status.naming import Names, meant, names, pod, unknown
from podplan.status.replicas import ENDED, PHASES, Container, Replica, ran, trains

_FIELDS = ("phase", "exitCode", "restarts")
_OWNER = "tensorstack.dev/owner-name"
_POD_PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
_MOST_RESTARTS = 2_147_483_647
_WANTED = "an exit code (137), a phase (Running), or a mapping such as {exitCode: 137}"


class Told(NamedTuple):
    """What is said of some replicas, and where: ``place`` begins messages about it.

    ``exact`` is false for what is said of a whole type, which gives way to what is said of one of them.
    """

    positions: list[int]
    place: str
    exact: bool
    phase: str
    code: int | None = None
    containers: tuple[Container, ...] | None = None
    name: str = ""
    uid: str = ""
    restarts: int = 0


def seen(
    job: str, groups: Sequence[Group], replicas: list[Replica], source: Source | None, flags: Sequence[str]
) -> list[Replica]:
    """``replicas`` in the states that a file and ``--pod NAME=STATE`` flags tell; flags win.

    Raises RequestError with the place of what cannot be understood.
    """
    known = names(job, replicas)
    pods = {group.role: group for group in groups if group.doc.data["kind"] == "Pod"}
    training = [trains(pods[one.type]) for one in replicas]
    found = list(replicas)
    for told in ([*_of_file(source, known, job, training)] if source else [], [*_of_flags(flags, known)]):
        _demand_once(told, replicas)
        for one in sorted(told, key=lambda one: one.exact):
            for position in one.positions:
                found[position] = _with(found[position], one, pods[found[position].type])
    return found


def _with(replica: Replica, told: Told, group: Group) -> Replica:
    containers = ran(group, told.phase, told.code) if told.containers is None else told.containers
    return replica._replace(
        name=told.name or replica.name,
        phase=told.phase,
        code=told.code,
        containers=containers,
        uid=told.uid,
        restarts=told.restarts,
        told=True,
    )


def _demand_once(told: Sequence[Told], replicas: Sequence[Replica]) -> None:
    places: dict[tuple[int, bool], str] = {}
    for one in told:
        for position in one.positions:
            before = places.setdefault((position, one.exact), one.place)
            if before is not one.place:
                raise RequestError(
                    f"{one.place}: {replicas[position].short} is told of twice; the other time at {before}"
                )


def _of_flags(flags: Sequence[str], known: Names) -> Iterator[Told]:
    for flag in flags:
        name, equals, value = flag.partition("=")
        if not equals:
            raise RequestError(
                f'--pod wants NAME=STATE, such as worker-3=137 or worker-0=Succeeded, not "{flag}"'
            )
        state: Any = int(value) if value.isascii() and value.isdigit() and len(value) < 10 else value
        yield _short(name, state, known, f"--pod {flag}")


def _of_file(source: Source, known: Names, job: str, training: Sequence[str]) -> Iterator[Told]:
    for fault in source.faults:
        if RULES[fault.rule].severity is Severity.ERROR:
            raise RequestError(f"{source.file}:{fault.span.line}:{fault.span.column}: {fault.message}")
    if not source.documents:
        raise RequestError(
            f"{source.file}: is empty; write what kubectl get pods -o yaml prints, or worker-3: 137"
        )
    for document in source.documents:
        if not isinstance(document.data, dict):
            raise RequestError(
                f"{_place(document, ())}: wants Pods, or a mapping such as worker-3: {{exitCode: 137}}"
            )
        if "kind" in document.data and "apiVersion" in document.data:
            for path, data in _objects(document.data, ()):
                told = _pod(document, path, data, known, job, training)
                if told is not None:
                    yield told
        else:
            for name, value in document.data.items():
                yield _short(str(name), value, known, _place(document, (name,), value is None))


def _place(document: Document, path: Path, on_key: bool = False) -> str:
    span = document.span(path, on_key)
    return f"{document.file}:{span.line}:{span.column}"


def _objects(data: dict[str, Any], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The objects of a document, Lists taken apart; what is not a Pod is passed over."""
    kind = text(data, "kind")
    if kind == "Pod":
        yield path, data
    elif kind in ("List", "PodList"):
        for index, entry in entries(data, "items"):
            if kind == "PodList" or text(entry, "kind") in ("Pod", "List", "PodList"):
                yield from _objects({"kind": "Pod", **entry}, (*path, "items", index))


def _short(name: str, value: Any, known: Names, place: str) -> Told:
    """What one line of the short form says."""
    positions = meant(known, name)
    if positions is None:
        raise RequestError(f"{place}: {unknown(known, name)}")
    exact = name not in known.types or name in known.short
    given = value if isinstance(value, dict) else {"phase" if isinstance(value, str) else "exitCode": value}
    if value is None or isinstance(value, list | bool | float):
        raise RequestError(f"{place}: {name} wants {_WANTED}")
    for field in given:
        if field not in _FIELDS:
            raise RequestError(
                f'{place}: {name}: unknown field "{field}"{meant_or_known(str(field), _FIELDS)}'
            )
    restarts = _integer(given, "restarts", _MOST_RESTARTS, f"{place}: {name}") or 0
    code = _integer(given, "exitCode", 255, f"{place}: {name}")
    phase = _phase(given.get("phase"), code, f"{place}: {name}")
    failed = code if phase == "Failed" else None
    return Told(positions, place, exact, phase, failed, restarts=restarts)


def _integer(given: Mapping[str, Any], field: str, most: int, place: str) -> int | None:
    value = given.get(field)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise RequestError(f"{place}: {field} wants a number from 0 to {most}, not {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    """A value in a message."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    shown = (
        f'"{value}"'
        if isinstance(value, str)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )
    return shown if len(shown) <= 60 else f"{shown[:60]}…"


def _phase(written: Any, code: int | None, place: str) -> str:
    """The phase that is written, or that an exit code means; the two must agree."""
    ended = "" if code is None else "Failed" if code else "Succeeded"
    if written is None:
        return ended or "Running"
    if not isinstance(written, str) or written not in PHASES:
        hint = (
            meant_or_known(written, PHASES) if isinstance(written, str) else f"; there is {', '.join(PHASES)}"
        )
        raise RequestError(f"{place}: no phase {_shown(written)}{hint}")
    if ended and written != ended:
        raise RequestError(
            f"{place}: a Pod that is {written} has no exit code {code}; with that it is {ended}"
        )
    return written


def _pod(
    document: Document, path: Path, data: dict[str, Any], known: Names, job: str, training: Sequence[str]
) -> Told | None:
    """What a Pod as kubectl prints it says; None for a Pod of something else."""
    metadata, status = mapping(data, "metadata"), mapping(data, "status")
    name = text(metadata, "name")
    position = pod(known, name)
    if position is None:
        if _is_of_another(metadata, job):
            return None
        where = (*path, "metadata", "name") if "name" in metadata else path
        raise RequestError(
            f"{_place(document, where)}: {unknown(known, name) if name else 'a Pod without a name'}"
        )
    place = _place(document, (*path, "metadata", "name"))
    written = status.get("phase")
    if written is not None and written not in _POD_PHASES:
        hint = meant_or_known(written, _POD_PHASES) if isinstance(written, str) else ""
        raise RequestError(
            f"{_place(document, (*path, 'status', 'phase'))}: no phase {_shown(written)}{hint}"
        )
    phase = str(written or "Creating")
    if metadata.get("deletionTimestamp") is not None and phase not in ENDED:
        phase = "Deleted"
    containers = tuple(_container(one) for _, one in entries(status, "containerStatuses"))
    inits = tuple(_container(one) for _, one in entries(status, "initContainerStatuses"))
    code = _code(containers, inits, training[position]) if phase == "Failed" else None
    return Told([position], place, True, phase, code, containers, name, text(metadata, "uid"))


def _is_of_another(metadata: Mapping[str, Any], job: str) -> bool:
    """Whether a Pod says that it belongs to another job, or to something else that owns it."""
    label = text(mapping(metadata, "labels"), _OWNER)
    owners = [text(owner, "name") for _, owner in entries(metadata, "ownerReferences")]
    return bool(label or owners) and job not in (label, *owners)


def _container(status: Mapping[str, Any]) -> Container:
    state = mapping(status, "state")
    name = text(status, "name")
    if isinstance(state.get("terminated"), dict):
        return Container(name, "Terminated", number(state["terminated"], "exitCode"))
    return Container(name, "Running" if "running" in state else "Waiting")


def _code(containers: Sequence[Container], inits: Sequence[Container], training: str) -> int | None:
    """The exit code by which a Pod failed: of the container that trains, else the first that is not 0."""
    by_name = {one.name: one.code for one in containers}
    if by_name.get(training):
        return by_name[training]
    return next((one.code for one in (*containers, *inits) if one.code), None)
