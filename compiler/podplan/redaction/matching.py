"""Where a text holds one of many values, in time that does not depend on how many they are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

MIN_MATCH_LENGTH = 4  # characters; a shorter value stands in too many words
_ELLIPSIS = "…"
_MAX_SEARCHED_PREFIXES = 16  # beginnings that are searched one by one


class ValueMatcher:
    """Values of at least ``SHORTEST`` characters; shorter ones are not looked for."""

    __slots__ = ("_lengths", "_prefixes", "_sorted_values", "_values")

    def __init__(self, values: Iterable[str]) -> None:
        self._values = frozenset(value for value in values if len(value) >= MIN_MATCH_LENGTH)
        self._sorted_values = sorted(self._values)
        self._prefixes = {value[:MIN_MATCH_LENGTH] for value in self._values}
        self._lengths = sorted({len(value) for value in self._values}, reverse=True)

    def __bool__(self) -> bool:
        return bool(self._values)

    def __contains__(self, text: str) -> bool:
        return text in self._values

    def iter_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The offsets of the values, the longest where several begin, in order and without overlaps.

        A value that the text cuts off with "…" counts as far as it goes.
        """
        ellipses = (
            [offset for offset, letter in enumerate(text) if letter == _ELLIPSIS] if _ELLIPSIS in text else []
        )
        next_start = 0
        for start in self._find_candidates(text):
            if start >= next_start and (end := self._find_end(text, start, ellipses)) > start:
                yield start, end
                next_start = end

    def _find_candidates(self, text: str) -> Iterable[int]:
        """Where a value may begin."""
        if len(self._prefixes) > _MAX_SEARCHED_PREFIXES:
            prefixes = self._prefixes
            return (
                at
                for at in range(len(text) - MIN_MATCH_LENGTH + 1)
                if text[at : at + MIN_MATCH_LENGTH] in prefixes
            )
        return sorted(at for start in self._prefixes for at in _iter_offsets(text, start))

    def _find_end(self, text: str, start: int, ellipses: list[int]) -> int:
        """Where the longest value from ``start`` on ends, or what a "…" leaves of one; else ``start``."""
        rest = len(text) - start
        length = next((n for n in self._lengths if n <= rest and text[start : start + n] in self._values), 0)
        for ellipsis in ellipses:
            if ellipsis - start >= max(MIN_MATCH_LENGTH, length):
                beginning = text[start:ellipsis]
                index = bisect_left(self._sorted_values, beginning)
                if index < len(self._sorted_values) and self._sorted_values[index].startswith(beginning):
                    return ellipsis
        return start + length


def _iter_offsets(text: str, part: str) -> Iterator[int]:
    offset = text.find(part)
    while offset >= 0:
        yield offset
        offset = text.find(part, offset + 1)
