"""Files checked one after the other, by this process or, where they are many, shared among workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial

from podplan.checker.run_state import Run

Check = Callable[[str, Run], None]

# So many files are checked before workers are forked, which then know all that these made known.
FIRST = 32
# With fewer files workers take longer than they save.
FEWEST = 150
# Files that a worker checks at a time.
TOGETHER = 16


def in_turn(files: Sequence[str], run: Run, check: Check, workers: int) -> Iterator[str]:
    """Has the files checked, and gives their names one after the other.

    So many ``workers`` share them where there are enough, 0 is for as many as there are processors.
    """
    if workers == 1 or len(files) < FEWEST:
        yield from _by_this_process(files, run, check)
        return
    from podplan.checker.workers import processors

    number = workers or processors()
    alone = files[: FIRST if number > 1 else len(files)]
    yield from _by_this_process(alone, run, check)
    if len(files) > len(alone):
        yield from _by_workers(number, files[len(alone) :], run, check)


def _by_workers(number: int, files: Sequence[str], run: Run, check: Check) -> Iterator[str]:
    """The same by so many workers; what they do not bring back is done here."""
    from podplan.checker.worker_result import add_part, part_of
    from podplan.checker.workers import forked

    tasks = [files[start : start + TOGETHER] for start in range(0, len(files), TOGETHER)]
    with closing(forked(tasks, partial(part_of, run, check), number)) as parts:
        for task, part in zip(tasks, parts, strict=True):
            if part is not None and add_part(part, run):
                yield from task
            else:
                yield from _by_this_process(task, run, check)


def _by_this_process(files: Iterable[str], run: Run, check: Check) -> Iterator[str]:
    for file in files:
        yield file
        check(file, run)
