"""What stays of jobs, packed: a list of thousands in little memory, and unpacked while it is gone through."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping

from podplan.core.typing import Any, NamedTuple

MAX_UNPACKED = 64  # rows that are not packed yet
MOST_UNPACKED = 8  # packs: jobs are asked for in turn, beside a few that many of them point at


class JobSource(NamedTuple):
    """Where a job came from: a file, which item of the file, which job of the item; from 0.

    ``text`` tells in this run whether the file still has the text that it had; None where nobody looked.
    """

    file: str
    item_index: int
    job_index: int = 0
    text_hash: int | None = None


class JobSummary(NamedTuple):
    """Where a job came from, None where no file gives it again, and what it left for each check."""

    job_source: JobSource | None
    check_summaries: tuple[Any, ...]


class PackedSummaries:
    """Rows in the order in which they were added, and by number: cheap next to those last asked for."""

    def __init__(self) -> None:
        self._packs: list[bytes] = []
        self._pack_ends: list[int] = []  # of each pack, the number of rows up to its end
        self._unpacked: list[JobSummary] = []
        self._length = 0
        self._cached_packs: dict[int, list[JobSummary]] = {}  # the last ones that were read

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[JobSummary]:
        for pack in self._packs:
            yield from _unpack(pack)
        yield from self._unpacked

    def __getitem__(self, number: int) -> JobSummary:
        pack = bisect_right(self._pack_ends, number)
        start = self._pack_ends[pack - 1] if pack else 0
        if pack == len(self._packs):
            return self._unpacked[number - start]
        rows = self._cached_packs.pop(pack, None) or _unpack(self._packs[pack])
        self._cached_packs[pack] = rows
        if len(self._cached_packs) > MOST_UNPACKED:
            del self._cached_packs[next(iter(self._cached_packs))]
        return rows[number - start]

    def append(self, job_summary: JobSummary) -> None:
        """One more row."""
        self._unpacked.append(job_summary)
        self._length += 1
        if len(self._unpacked) == MAX_UNPACKED:
            self._pack_pending()

    def extend(self, other: PackedSummaries) -> None:
        """All rows of another list, as they are packed there."""
        self._pack_pending()
        self._packs += other._packs
        self._pack_ends += [self._length + end for end in other._pack_ends]
        self._unpacked += other._unpacked
        self._length += len(other)

    def _pack_pending(self) -> None:
        if self._unpacked:
            from pickle import dumps
            from zlib import Z_BEST_SPEED, compress

            self._packs.append(compress(dumps(self._unpacked), Z_BEST_SPEED))
            self._pack_ends.append(self._length)
            self._unpacked = []


class CheckColumn(Mapping[int, Any]):
    """What some of the jobs left for one check, by their numbers; unpacked for each look, and not kept."""

    def __init__(self, job_summaries: PackedSummaries, column: int) -> None:
        self._job_summaries, self._column = job_summaries, column
        self._job_numbers = array("q")

    def add_job(self, job_number: int) -> None:
        """One more of the jobs, further down than the others."""
        self._job_numbers.append(job_number)

    def __len__(self) -> int:
        return len(self._job_numbers)

    def __iter__(self) -> Iterator[int]:
        return iter(self._job_numbers)

    def __getitem__(self, number: int) -> Any:
        position = bisect_left(self._job_numbers, number)
        if self._job_numbers[position : position + 1] != array("q", (number,)):
            raise KeyError(number)
        return self._job_summaries[number].check_summaries[self._column]


def _unpack(pack: bytes) -> list[JobSummary]:
    from pickle import loads
    from zlib import decompress

    job_summaries: list[JobSummary] = loads(decompress(pack))
    return job_summaries
