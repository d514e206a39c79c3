"""The jobs of a run as the policies about all of them see them.

A job with all that it lowers to takes a hundred times what others have to know of it. So each leaves that and
is let go; the few that there is something to say of are made again. Even what jobs leave is packed: only of
those that have something in common with another one is it looked at.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Collection, Hashable, Iterable, Iterator

from podplan.checker.packed_store import Column, Origin, Row, Rows
from podplan.checker.rebuild import Again
from podplan.core.limits import BoundExceeded
from podplan.core.typing import Any, NamedTuple
from podplan.lint.checks import left
from podplan.lint.document_diagnostics import Seen
from podplan.lint.policy import Policy
from podplan.lint.policy_runner import apply_to_all, is_about_all
from podplan.lint.target import Job
from podplan.workspace.files import git_top

SHARES = 16  # all keys at once would be, as objects of Python, much of what a run of thousands of jobs takes


class Meetings:
    """Which keys several parties have; of a key and of a party only the hash is kept."""

    def __init__(self) -> None:
        self._keys, self._parties = array("q"), array("q")

    def add(self, party: Hashable, keys: Collection[int]) -> None:
        """The keys of a party, or more of them."""
        self._keys.extend(keys)
        self._parties.extend([hash(party)] * len(keys))

    def extend(self, others: Meetings) -> None:
        """Those of other jobs."""
        self._keys.extend(others._keys)
        self._parties.extend(others._parties)

    def common(self) -> set[int]:
        """The keys that more than one party has."""
        common: set[int] = set()
        for share in range(SHARES):
            first: dict[int, int] = {}
            for key, party in zip(self._keys, self._parties, strict=True):
                if key % SHARES == share and first.setdefault(key, party) != party:
                    common.add(key)
        return common


class Left(NamedTuple):
    """What jobs left, as plain data, and the limits that the first of them exceeded."""

    rows: Rows
    meetings: Meetings
    exceeded: tuple[tuple[str, str], ...] = ()


class Together:
    """The jobs so far, and what policies say of them together; ``policies`` are all that may be asked."""

    def __init__(self, policies: Iterable[Policy], again: Again) -> None:
        self._checks = tuple(dict.fromkeys(policy.body for policy in policies if is_about_all(policy)))
        self._again = again
        self._first: tuple[Job, Origin | None] | None = None
        self._unseen = 0  # jobs that no check is about
        self._rows = Rows()
        self._whole: dict[int, Job] = {}
        self._meetings = Meetings()
        self._tops: dict[str, str] = {}
        self.exceeded: list[tuple[str, str]] = []  # file and sentence

    def __len__(self) -> int:
        return len(self._rows) + (self._first is not None) + self._unseen

    def add(self, job: Job, origin: Origin | None) -> None:
        """One more; without an origin it is kept whole. The first leaves nothing: most runs have no other."""
        if not self._checks:
            self._unseen += 1
        elif not len(self):
            self._first = job, origin
        else:
            self.settle()
            self._add(job, origin)

    def settle(self) -> None:
        """Has the first job leave what the others left, since it is not alone.

        A limit that it exceeds is its own, and not that of the job which is added now.
        """
        if self._first is not None:
            (job, origin), self._first = self._first, None
            try:
                self._add(job, origin)
            except BoundExceeded as error:
                file = origin.file if origin is not None else ""
                self.exceeded.append((file, str(error.in_file(file))))

    def left(self) -> Left:
        """What the jobs so far left, for the run that they are a part of."""
        self.settle()
        return Left(self._rows, self._meetings, tuple(self.exceeded))

    def add_left(self, left: Left) -> None:
        """What the jobs left that come next."""
        self.settle()
        self._rows.extend(left.rows)
        self._meetings.extend(left.meetings)
        self.exceeded += left.exceeded

    def _add(self, job: Job, origin: Origin | None) -> None:
        row = Row(origin, tuple(left(check, job) for check in self._checks))
        if origin is None:
            self._whole[len(self._rows)] = job
        repository = self._repository(origin)
        for number, one in enumerate(row.left):
            if one is not None:
                self._meetings.add(one.party, _keys(number, one, repository))
        self._rows.append(row)

    def job(self, number: int) -> Job:
        """The job that was added after so many others."""
        whole = self._whole.get(number)
        if whole is not None:
            return whole
        origin = self._rows[number].origin
        assert origin is not None
        return self._again.job(origin)

    def file(self, number: int) -> str:
        """The file that such a job came from; "" where that is not known."""
        origin = self._rows[number].origin
        return origin.file if origin is not None else ""

    def _repository(self, origin: Origin | None) -> str:
        """The top level of the git repository that a job comes from; "" where there is none."""
        folder = os.path.dirname(origin.file) if origin is not None else None
        if folder is None:
            return ""
        if folder not in self._tops:
            self._tops[folder] = git_top(folder or ".")
        return self._tops[folder]

    def said(self, policies: Iterable[Policy]) -> Iterator[tuple[int, Seen]]:
        """What policies say, each with the number of the job that it is said of; of one alone nothing.

        The jobs of each repository are looked at by themselves: a worktree in another one has the same jobs
        at another revision, and a submodule has jobs of its own.
        """
        if self._first is not None or not self._checks:
            return
        by_repository: dict[str, list[Column]] = {}
        common = self._meetings.common()
        for number, row in enumerate(self._rows) if common else ():
            repository = self._repository(row.origin)
            for place, one in enumerate(row.left):
                if one is not None and not common.isdisjoint(_keys(place, one, repository)):
                    if repository not in by_repository:
                        by_repository[repository] = [
                            Column(self._rows, at) for at in range(len(self._checks))
                        ]
                    by_repository[repository][place].add(number)
        policies = tuple(policies)
        for columns in by_repository.values():
            yield from apply_to_all(policies, dict(zip(self._checks, columns, strict=True)), self.job)


def _keys(column: int, left: Any, repository: str) -> list[int]:
    """The keys of what a job of a repository left for a check, each as a number."""
    return [hash((column, repository, key)) for key in left.keys]
