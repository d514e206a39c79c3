"""Changes as people read them: one for all objects of all jobs that change in the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from podplan.diff.model import ABSENT, Difference
from podplan.diff.values import Delta
from podplan.findings import Location

JOB = "{job}"
TRAINING = "containers[{training}]"
MIN_WORD = 3  # a shorter name of a job is part of too many words


class _Entry(NamedTuple):
    """What is known of a change: as it is in the first job, and as it is in all; ``parts`` as they differ."""

    kind: str
    delta: Delta
    told: tuple[str, Any, Any]
    place: Callable[[], Location | None]
    jobs: dict[int, None]
    roles: dict[str, None]
    parts: set[str]
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
        words: Mapping[str, str],
        place: Callable[[], Location | None],
        role: str = "",
        objects: int = 1,
    ) -> None:
        """One change of ``objects`` objects of the ``job`` of that index.

        ``words`` are those that stand for something that every job has: its name, and its container.
        """
        told = (
            _told(delta.part, words),
            _told(delta.before, words),
            _told(delta.after, words),
        )
        key = kind, repr(told)
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(kind, delta, told, place, {}, {}, set(), [0])
        entry.jobs[job] = None
        entry.counts[0] += objects
        entry.parts.add(delta.part)
        if role:
            entry.roles[role] = None

    def differences(self) -> tuple[Difference, ...]:
        """The changes, each with how many objects have it."""
        return tuple(map(_difference, self._entries.values()))


def _difference(entry: _Entry) -> Difference:
    delta = entry.delta
    part, before, after = entry.told if len(entry.jobs) > 1 else (delta.part, delta.before, delta.after)
    return Difference(
        entry.kind,
        part if len(entry.parts) > 1 else delta.part,
        delta.before_path if after is ABSENT else delta.after_path,
        before,
        after,
        entry.counts[0],
        tuple(entry.roles),
        tuple(entry.jobs),
        entry.place(),
    )


def _told(value: Any, words: Mapping[str, str]) -> Any:
    """A value with what stands for the words in it."""
    if isinstance(value, str):
        for word, instead in words.items():
            if len(word) >= MIN_WORD:
                value = value.replace(word, instead)
        return value
    if isinstance(value, dict):
        return {key: _told(below, words) for key, below in value.items()}
    if isinstance(value, list):
        return [_told(below, words) for below in value]
    return value
