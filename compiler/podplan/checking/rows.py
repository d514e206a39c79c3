"""What stays of jobs, packed: a list of thousands in little memory, and unpacked while it is gone through."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.typing import Any, NamedTuple

MOST_OPEN = 64  # rows that are not packed yet


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
    """Rows in the order in which they were added."""

    def __init__(self) -> None:
        self._packs: list[bytes] = []
        self._open: list[Row] = []
        self._number = 0

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[Row]:
        for pack in self._packs:
            yield from _unpacked(pack)
        yield from self._open

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
        self._open += others._open
        self._number += len(others)

    def _close(self) -> None:
        if self._open:
            from pickle import dumps

            self._packs.append(dumps(self._open))
            self._open = []


def _unpacked(pack: bytes) -> list[Row]:
    from pickle import loads

    rows: list[Row] = loads(pack)
    return rows
