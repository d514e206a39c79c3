"""The jobs of a run as the policies about all of them see them.

A job with all that it lowers to takes a hundred times what others have to know of it. So each leaves that and
is let go; the few that there is something to say of are made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podplan.checking.again import Again, Origin
from podplan.lint.apply import apply_to_all, is_about_all
from podplan.lint.checks import left
from podplan.lint.policy import Policy
from podplan.lint.seen import Seen
from podplan.lint.subject import Job
from podplan.typing import Any, NamedTuple


class Kept(NamedTuple):
    """A job that is whole, or where it came from and what it left for each check."""

    origin: Origin | None
    job: Job | None
    left: tuple[Any, ...] = ()


class Together:
    """The jobs so far, and what policies say of them together; ``policies`` are all that may be asked."""

    def __init__(self, policies: Iterable[Policy], again: Again) -> None:
        self._checks = tuple(dict.fromkeys(policy.body for policy in policies if is_about_all(policy)))
        self._again = again
        self._kept: list[Kept] = []

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, job: Job, origin: Origin | None) -> None:
        """One more. Whole are those that no file gives again, and the first: most runs have no other."""
        whole = origin is None or not self._kept
        self._kept.append(Kept(origin, job) if whole else Kept(origin, None, self._left(job)))

    def job(self, number: int) -> Job:
        """The job that was added after so many others."""
        kept = self._kept[number]
        if kept.job is not None:
            return kept.job
        assert kept.origin is not None
        return self._again.job(kept.origin)

    def file(self, number: int) -> str:
        """The file that a job came from; "" where that is not known."""
        origin = self._kept[number].origin
        return origin.file if origin is not None else ""

    def said(self, policies: Iterable[Policy]) -> Iterator[tuple[int, Seen]]:
        """What policies say, each with the number of the job that it is said of; of one alone nothing."""
        if len(self._kept) < 2:
            return
        rows = [self._left(kept.job) if kept.job is not None else kept.left for kept in self._kept]
        columns = {
            check: {number: row[column] for number, row in enumerate(rows) if row[column] is not None}
            for column, check in enumerate(self._checks)
        }
        yield from apply_to_all(policies, columns, self.job)

    def _left(self, job: Job) -> tuple[Any, ...]:
        return tuple(left(check, job) for check in self._checks)
