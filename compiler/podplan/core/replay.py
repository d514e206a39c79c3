"""Random access to sequences that are regenerated on request instead of kept in memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import islice

from podplan.core.typing import Any


class Replay:
    """Elements of sequences by the key of the sequence and their number.

    Elements are mostly requested in order: then the iterator continues where it stopped.
    """

    def __init__(self, make: Callable[[Any], Iterator[Any]], most_open: int) -> None:
        self._make, self._most_open = make, most_open
        self._open: dict[Hashable, tuple[Iterator[Any], int]] = {}

    def element(self, key: Hashable, number: int) -> Any:
        """Return the element with this 0-based number, which must exist."""
        elements, there = self._open.pop(key, (None, 0))
        if elements is None or there > number:
            elements, there = self._make(key), 0
        found = next(islice(elements, number - there, None))
        self._open[key] = elements, number + 1
        if len(self._open) > self._most_open:
            del self._open[next(iter(self._open))]
        return found
