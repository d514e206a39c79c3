"""Aggregates changes: one for all objects of all jobs that change in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from podplan.core.findings import Location
from podplan.core.limits import MAX_DIFFERENCE_TEXT, MAX_DIFFERENCES, LimitExceeded, limit_exceeded
from podplan.core.structural_diff import ABSENT
from podplan.tools.diff.document_changes import Delta
from podplan.tools.diff.job_facts import JobReference
from podplan.tools.diff.model import Difference

JOB = "{job}"
TRAINING = "containers[{training}]"
MIN_WORD = 3  # a shorter job name is a part of too many words


class _Entry(NamedTuple):
    """A change as in the first job, and its occurrences in all; ``parts`` are its differing parts.

    ``pattern`` is the change with placeholders for the words of the job.

    ``jobs`` has how many objects of each job have it.
    """

    kind: str
    delta: Delta
    pattern: tuple[str, Any, Any]
    place: Location | None
    jobs: dict[JobReference, int]
    roles: dict[str, None]
    parts: set[str]


class ChangeFolding:
    """Collects changes and aggregates equal ones; values that contain the name of their job are equal
    otherwise."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, bytes], _Entry] = {}
        self._room = MAX_DIFFERENCE_TEXT

    def add(
        self,
        kind: str,
        delta: Delta,
        job: JobReference,
        words: Mapping[str, str],
        place: Callable[[], Location | None],
        role: str = "",
        objects: int = 1,
    ) -> None:
        """Add one change of ``objects`` objects of a job.

        ``words`` has placeholders for texts that every job has: its name, and its container.

        Raises LimitExceeded: if there are too many changes.
        """
        pattern = (
            _replace_words(delta.part, words),
            _replace_words(delta.before, words),
            _replace_words(delta.after, words),
        )
        written = repr(pattern).encode("utf-8", "surrogatepass")
        key = kind, blake2b(written, digest_size=16).digest()
        entry = self._entries.get(key)
        if entry is None:
            self._room -= len(written)
            _require_room(len(self._entries), self._room, job.file)
            entry = self._entries[key] = _Entry(kind, delta, pattern, place(), {}, {}, set())
        entry.jobs[job] = entry.jobs.get(job, 0) + objects
        entry.parts.add(delta.part)
        if role:
            entry.roles[role] = None

    def iter_differences(self, numbers: Mapping[JobReference, int]) -> Iterator[Difference]:
        """Yield the changes, each with the number of its objects, for the jobs in ``numbers`` and in their
        order."""
        rows: list[tuple[int, _Entry, dict[int, int]]] = []
        for entry in self._entries.values():
            jobs = {numbers[job]: objects for job, objects in entry.jobs.items() if job in numbers}
            if jobs:
                rows.append((min(jobs), entry, dict(sorted(jobs.items()))))
        rows.sort(key=lambda row: row[0])
        return (_build_difference(entry, jobs) for _, entry, jobs in rows)


def _require_room(entries: int, room: int, file: str) -> None:
    if entries >= MAX_DIFFERENCES:
        message = f"there are more than {MAX_DIFFERENCES:,} distinct changes, the last in {file}"
        raise LimitExceeded(limit_exceeded("differences", f"{message}; compare fewer files"), file)
    if room < 0:
        message = f"the changed values have more than {MAX_DIFFERENCE_TEXT:,} characters, the last in {file}"
        raise LimitExceeded(limit_exceeded("difference-text", f"{message}; compare fewer files"), file)


def _build_difference(entry: _Entry, jobs: Mapping[int, int]) -> Difference:
    delta = entry.delta
    part, before, after = entry.pattern if len(jobs) > 1 else (delta.part, delta.before, delta.after)
    return Difference(
        entry.kind,
        part if len(entry.parts) > 1 else delta.part,
        delta.before_path if after is ABSENT else delta.after_path,
        before,
        after,
        sum(jobs.values()),
        tuple(entry.roles),
        tuple(jobs),
        entry.place,
    )


def _replace_words(value: Any, words: Mapping[str, str]) -> Any:
    """Return a value with the texts in ``words`` replaced by their placeholders."""
    if isinstance(value, str):
        for word, placeholder in words.items():
            if len(word) >= MIN_WORD:
                value = value.replace(word, placeholder)
        return value
    if isinstance(value, dict):
        return {key: _replace_words(below, words) for key, below in value.items()}
    if isinstance(value, list):
        return [_replace_words(below, words) for below in value]
    return value
