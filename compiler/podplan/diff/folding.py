"""Changes as people read them: one for all objects of all jobs that change in the same way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from podplan.diff.model import ABSENT, Difference
from podplan.diff.values import Delta
from podplan.findings import Location

JOB = "{job}"
MIN_NAME = 3  # a shorter name of a job is part of too many words


class _Entry(NamedTuple):
    """What is known of one change; ``raw`` are the values as they are in the first job."""

    kind: str
    delta: Delta
    told: tuple[str, Any, Any]
    place: Callable[[], Location | None]
    jobs: dict[int, None]
    roles: dict[str, None]
    counts: list[int]


class Folding:
    """Gathers changes, equal ones as one; values that name their job are equal where nothing else differs."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], _Entry] = {}

    def add(
        self,
        kind: str,
        delta: Delta,
        job: int,
        name: str,
        place: Callable[[], Location | None],
        role: str = "",
        objects: int = 1,
    ) -> None:
        """One change of ``objects`` objects of the ``job`` of that index and ``name``."""
        told = tuple(_unnamed(value, name) for value in (delta.part, delta.before, delta.after))
        key = kind, repr(told)
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(kind, delta, told, place, {}, {}, [0])
        entry.jobs[job] = None
        entry.counts[0] += objects
        if role:
            entry.roles[role] = None

    def differences(self) -> tuple[Difference, ...]:
        """The changes, each with how many objects have it."""
        return tuple(map(_difference, self._entries.values()))


def _difference(entry: _Entry) -> Difference:
    delta = entry.delta
    part, before, after = entry.told if len(entry.jobs) > 1 else (delta.part, delta.before, delta.after)
    path = delta.before_path if after is ABSENT else delta.after_path
    return Difference(
        entry.kind,
        part,
        path,
        before,
        after,
        entry.counts[0],
        tuple(entry.roles),
        tuple(entry.jobs),
        entry.place(),
    )


def _unnamed(value: Any, name: str) -> Any:
    """A value with ``{job}`` for the name of its job."""
    if len(name) < MIN_NAME:
        return value
    if isinstance(value, str):
        return value.replace(name, JOB)
    if isinstance(value, dict):
        return {key: _unnamed(below, name) for key, below in value.items()}
    if isinstance(value, list):
        return [_unnamed(below, name) for below in value]
    return value
