"""Packed storage of job summaries: thousands of them in little memory, unpacked on access."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping

from podplan.core.typing import Any, NamedTuple

MAX_UNPACKED = 64  # rows that are not packed yet
MOST_UNPACKED = 8  # cached packs: jobs are read in order, except for a few that many others refer to


class JobSource(NamedTuple):
    """Where a job came from: a file, the index of the document, the index of the job; from 0.

    ``text_hash`` identifies the text of the file in this run; None if it was not computed.
    """

    file: str
    item_index: int
    job_index: int = 0
    text_hash: int | None = None


class JobSummary(NamedTuple):
    """The source of a job, None if it cannot be rebuilt, and its summary for each check."""

    job_source: JobSource | None
    check_summaries: tuple[Any, ...]


class PackedSummaries:
    """Rows in the order in which they were added, accessible by number; adjacent access is cheap."""

    def __init__(self) -> None:
        self._packs: list[bytes] = []
        self._pack_ends: list[int] = []  # the number of rows up to the end of each pack
        self._unpacked: list[JobSummary] = []
        self._length = 0
        self._cached_packs: dict[int, list[JobSummary]] = {}  # the packs that were read last

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
        """Append a row."""
        self._unpacked.append(job_summary)
        self._length += 1
        if len(self._unpacked) == MAX_UNPACKED:
            self._pack_pending()

    def extend(self, other: PackedSummaries) -> None:
        """Append all rows of another list, without unpacking them."""
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
    """The summaries of some jobs for one check, by job number; unpacked at each access, and not kept."""

    def __init__(self, job_summaries: PackedSummaries, column: int) -> None:
        self._job_summaries, self._column = job_summaries, column
        self._job_numbers = array("q")

    def add_job(self, job_number: int) -> None:
        """Add a job, whose number must be higher than the previous ones."""
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
