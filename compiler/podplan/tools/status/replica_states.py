"""The replicas of a job in the states that a file and flags tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from podplan.core.builtin_rules import RULES
from podplan.core.errors import RequestError
from podplan.core.findings import Severity
from podplan.core.replica_groups import Group
from podplan.tools.status.declared_state import Told
from podplan.tools.status.kubectl_list import of_pods
from podplan.tools.status.replica_matcher import Names, names
from podplan.tools.status.replicas import Replica, ran, trains
from podplan.tools.status.shorthand import of_flags, of_lines
from podplan.yaml import Source


def seen(
    job: str, groups: Sequence[Group], replicas: list[Replica], source: Source | None, flags: Sequence[str]
) -> list[Replica]:
    """``replicas`` as ``source`` and ``--pod NAME=STATE`` flags tell; flags win, and what is exact does.

    ``groups`` are what the job ``job`` was lowered to. Raises RequestError with the place of what cannot be
    understood.
    """
    known = names(job, replicas)
    pods = {group.role: group for group in groups if group.doc.data["kind"] == "Pod"}
    training = [trains(pods[one.type]) for one in replicas]
    found = list(replicas)
    for said in (_of_file(source, known, job, training) if source else (), of_flags(flags, known)):
        for one in sorted(_once(said, replicas), key=lambda one: one.exact):
            for position in one.positions:
                found[position] = _with(found[position], one, pods[found[position].type])
    return _alike(job, found)


def _alike(job: str, found: list[Replica]) -> list[Replica]:
    """The same, Pods of which nothing is told called as those that are: with the digits of the controller."""
    seen_as = {one.name.removesuffix(f"-{one.short}") for one in found if one.told}
    base = seen_as.pop() if len(seen_as) == 1 else job
    return [
        one if one.told or one.name != f"{job}-{one.short}" else one._replace(name=f"{base}-{one.short}")
        for one in found
    ]


def _of_file(source: Source, known: Names, job: str, training: Sequence[str]) -> Iterator[Told]:
    for fault in source.faults:
        if RULES[fault.rule].severity is Severity.ERROR:
            raise RequestError(f"{source.file}:{fault.span.line}:{fault.span.column}: {fault.message}")
    wanted = "what kubectl get pods -o yaml prints, or lines such as worker-3: 137"
    if not source.documents:
        raise RequestError(f"{source.file}: this is empty; write {wanted}")
    for document in source.documents:
        if not isinstance(document.data, dict):
            span = document.span(())
            raise RequestError(f"{source.file}:{span.line}:{span.column}: this is no state; write {wanted}")
        if "kind" in document.data and "apiVersion" in document.data:
            yield from of_pods(document, known, job, training)
        else:
            yield from of_lines(document, known)


def _once(said: Iterable[Told], replicas: Sequence[Replica]) -> Iterator[Told]:
    """The same, where nothing is said twice of one replica. Raises RequestError."""
    places: dict[tuple[int, bool], str] = {}
    for one in said:
        for position in one.positions:
            if (position, one.exact) in places:
                other = places[position, one.exact]
                raise RequestError(
                    f"{one.place}: {replicas[position].short} is told of twice, also at {other}"
                )
            places[position, one.exact] = one.place
        yield one


def _with(replica: Replica, told: Told, group: Group) -> Replica:
    return replica._replace(
        name=told.name or replica.name,
        phase=told.phase,
        code=told.code,
        reason=told.reason,
        containers=ran(group, told.phase, told.code) if told.containers is None else told.containers,
        uid=told.uid,
        restarts=told.restarts,
        told=True,
    )
