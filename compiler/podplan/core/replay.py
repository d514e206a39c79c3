"""Sequences that are made again when one of their elements is asked for, so that nobody has to keep them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import islice

from podplan.core.typing import Any


class Replay:
    """Elements of sequences by the key of the sequence and their number.

    They are mostly asked for in their order: then the next one is made where the last one was.
    """

    def __init__(self, make: Callable[[Any], Iterator[Any]], most_open: int) -> None:
        self._make, self._most_open = make, most_open
        self._open: dict[Hashable, tuple[Iterator[Any], int]] = {}

    def element(self, key: Hashable, number: int) -> Any:
        """The element of that number, from 0, which must be there."""
        elements, there = self._open.pop(key, (None, 0))
        if elements is None or there > number:
            elements, there = self._make(key), 0
        found = next(islice(elements, number - there, None))
        self._open[key] = elements, number + 1
        if len(self._open) > self._most_open:
            del self._open[next(iter(self._open))]
        return found
