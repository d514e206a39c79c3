"""What stays of jobs, packed: a list of thousands in little memory, and unpacked while it is gone through."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping

from podplan.core.typing import Any, NamedTuple

MOST_OPEN = 64  # rows that are not packed yet
MOST_UNPACKED = 8  # packs: jobs are asked for in turn, beside a few that many of them point at


class Origin(NamedTuple):
    """Where a job came from: a file, which item of the file, which job of the item; from 0.

    ``text`` tells in this run whether the file still has the text that it had; None where nobody looked.
    """

    file: str
    item: int
    job: int = 0
    text: int | None = None


class Row(NamedTuple):
    """Where a job came from, None where no file gives it again, and what it left for each check."""

    origin: Origin | None
    left: tuple[Any, ...]


class Rows:
    """Rows in the order in which they were added, and by number: cheap next to those last asked for."""

    def __init__(self) -> None:
        self._packs: list[bytes] = []
        self._ends: list[int] = []  # of each pack, the number of rows up to its end
        self._open: list[Row] = []
        self._number = 0
        self._unpacked: dict[int, list[Row]] = {}  # the last packs that were asked for

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[Row]:
        for pack in self._packs:
            yield from _unpacked(pack)
        yield from self._open

    def __getitem__(self, number: int) -> Row:
        pack = bisect_right(self._ends, number)
        start = self._ends[pack - 1] if pack else 0
        if pack == len(self._packs):
            return self._open[number - start]
        rows = self._unpacked.pop(pack, None) or _unpacked(self._packs[pack])
        self._unpacked[pack] = rows
        if len(self._unpacked) > MOST_UNPACKED:
            del self._unpacked[next(iter(self._unpacked))]
        return rows[number - start]

    def append(self, row: Row) -> None:
        """One more row."""
        self._open.append(row)
        self._number += 1
        if len(self._open) == MOST_OPEN:
            self._close()

    def extend(self, others: Rows) -> None:
        """All rows of another list, as they are packed there."""
        self._close()
        self._packs += others._packs
        self._ends += [self._number + end for end in others._ends]
        self._open += others._open
        self._number += len(others)

    def _close(self) -> None:
        if self._open:
            from pickle import dumps
            from zlib import Z_BEST_SPEED, compress

            self._packs.append(compress(dumps(self._open), Z_BEST_SPEED))
            self._ends.append(self._number)
            self._open = []


class Column(Mapping[int, Any]):
    """What some of the jobs left for one check, by their numbers; unpacked for each look, and not kept."""

    def __init__(self, rows: Rows, place: int) -> None:
        self._rows, self._place = rows, place
        self._numbers = array("q")

    def add(self, number: int) -> None:
        """One more of the jobs, further down than the others."""
        self._numbers.append(number)

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __getitem__(self, number: int) -> Any:
        place = bisect_left(self._numbers, number)
        if self._numbers[place : place + 1] != array("q", (number,)):
            raise KeyError(number)
        return self._rows[number].left[self._place]


def _unpacked(pack: bytes) -> list[Row]:
    from pickle import loads
    from zlib import decompress

    rows: list[Row] = loads(decompress(pack))
    return rows
