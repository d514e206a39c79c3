"""How much is measured: all, tenths for a first look, or next to nothing to see that every step runs."""

from __future__ import annotations

from typing import NamedTuple


class Scale(NamedTuple):
    """``numbers`` are those of the files of a repository, smallest first; the third stands for "many".

    ``divide`` is what other sizes are divided by. ``rounds`` is the share of the rounds that are run. Only
    what is ``judged`` says whether targets are met.
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
