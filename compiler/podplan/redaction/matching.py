"""Finds one of many values in a text, in time that does not depend on their number."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

MIN_MATCH_LENGTH = 4  # characters; a shorter value would match parts of many words
_ELLIPSIS = "…"
_MAX_SEARCHED_PREFIXES = 16  # prefixes that are searched one by one


class ValueMatcher:
    """Matches values of at least ``MIN_MATCH_LENGTH`` characters; shorter ones are ignored."""

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
        """Yield the ranges of the values, the longest at each position, in order and without overlaps.

        A value that the text truncates with "…" matches up to there.
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
        """Return where a value may begin."""
        if len(self._prefixes) > _MAX_SEARCHED_PREFIXES:
            prefixes = self._prefixes
            return (
                at
                for at in range(len(text) - MIN_MATCH_LENGTH + 1)
                if text[at : at + MIN_MATCH_LENGTH] in prefixes
            )
        return sorted(at for start in self._prefixes for at in _iter_offsets(text, start))

    def _find_end(self, text: str, start: int, ellipses: list[int]) -> int:
        """Return the end of the longest value at ``start``, also if truncated with "…"; ``start`` if there
        is none."""
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
