"""What checks about all jobs together have in common.

Such a check is called once. It sees what the jobs left behind, plain data by the number of the job, and has
the few jobs made again that it has something to say of, or that it points at.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from podplan.core.findings import Path
from podplan.core.provenance import Doc
from podplan.lint.analysis.jobs import Instance, Named, called, written
from podplan.lint.target import Job

# A job by its number.
Again = Callable[[int], Job]

NAME: Path = ("metadata", "name")
# As many others are pointed at.
MOST_PLACES = 3


class Sharers:
    """Jobs that have something in common, in their order."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._names: dict[str, None] = {}
        self._first: dict[Instance, tuple[int, int]] = {}

    def add(self, number: int, job: Named) -> None:
        """One more of them."""
        self._first.setdefault(job.instance, (len(self._numbers), len(self._names)))
        self._numbers.append(number)
        self._names[job.called] = None

    def before(self, job: Named) -> tuple[list[int], list[str]]:
        """The jobs of other files and documents before the first variant of one: the numbers of some, and the
        names of all."""
        numbers, names = self._first[job.instance]
        return self._numbers[: min(numbers, MOST_PLACES)], list(islice(self._names, names))


def named_place(job: Job) -> tuple[Doc, Path, str]:
    """Where the name of a job is written, as a related place."""
    assert job.cr is not None
    return job.cr, written(job.cr.data, *NAME), called(job)
