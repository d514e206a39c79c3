"""The scale of a run: everything, tenths for a first look, or a minimum to test that every step works."""

from __future__ import annotations

from typing import NamedTuple


class Scale(NamedTuple):
    """``numbers`` are the numbers of files of a repository, smallest first; the third is "many".

    ``divide`` divides other sizes. ``rounds`` is the fraction of the rounds that run. Only a ``judged`` run
    reports whether targets are met.
    """

    numbers: tuple[int, int, int, int]
    divide: int
    environments: int
    rounds: float
    judged: bool

    @property
    def many(self) -> int:
        return self.numbers[2]

    def size(self, full: int) -> int:
        return max(full // self.divide, 1)

    def turns(self, full: int) -> int:
        return max(round(full * self.rounds), 1)


FULL = Scale((1, 100, 1000, 10_000), divide=1, environments=24, rounds=1, judged=True)
SHORT = Scale((1, 10, 100, 1000), divide=10, environments=24, rounds=0.4, judged=True)
SMOKE = Scale((1, 2, 3, 4), divide=1000, environments=2, rounds=0, judged=False)
