"""Where a text holds one of many values, in time that does not depend on how many they are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

SHORTEST = 4  # characters; a shorter value stands in too many words
_CUT = "…"
_FEW = 16  # beginnings that are searched one by one


class Matcher:
    """Values of at least ``SHORTEST`` characters; shorter ones are not looked for."""

    __slots__ = ("_lengths", "_ordered", "_starts", "_values")

    def __init__(self, values: Iterable[str]) -> None:
        self._values = frozenset(value for value in values if len(value) >= SHORTEST)
        self._ordered = sorted(self._values)
        self._starts = {value[:SHORTEST] for value in self._values}
        self._lengths = sorted({len(value) for value in self._values}, reverse=True)

    def __bool__(self) -> bool:
        return bool(self._values)

    def __contains__(self, text: str) -> bool:
        return text in self._values

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The offsets of the values, the longest where several begin, in order and without overlaps.

        A value that the text cuts off with "…" counts as far as it goes.
        """
        cuts = [offset for offset, letter in enumerate(text) if letter == _CUT] if _CUT in text else []
        done = 0
        for start in self._candidates(text):
            if start >= done and (end := self._end(text, start, cuts)) > start:
                yield start, end
                done = end

    def _candidates(self, text: str) -> Iterable[int]:
        """Where a value may begin."""
        if len(self._starts) > _FEW:
            starts = self._starts
            return (at for at in range(len(text) - SHORTEST + 1) if text[at : at + SHORTEST] in starts)
        return sorted(at for start in self._starts for at in _offsets(text, start))

    def _end(self, text: str, start: int, cuts: list[int]) -> int:
        """Where the longest value from ``start`` on ends, or what a "…" leaves of one; else ``start``."""
        rest = len(text) - start
        whole = next((n for n in self._lengths if n <= rest and text[start : start + n] in self._values), 0)
        for cut in cuts:
            if cut - start >= max(SHORTEST, whole):
                beginning = text[start:cut]
                place = bisect_left(self._ordered, beginning)
                if place < len(self._ordered) and self._ordered[place].startswith(beginning):
                    return cut
        return start + whole


def _offsets(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)
