"""Files checked one after the other, by this process or, where they are many, shared among workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial

from podplan.checker.run_state import CheckRun

CheckFile = Callable[[str, CheckRun], None]

# So many files are checked before workers are forked, which then know all that these made known.
FILES_BEFORE_FORK = 32
# With fewer files workers take longer than they save.
MIN_FILES_FOR_WORKERS = 150
# Files that a worker checks at a time.
FILES_PER_TASK = 16


def iter_checked_files(
    files: Sequence[str], run: CheckRun, check_file: CheckFile, workers: int
) -> Iterator[str]:
    """Has the files checked, and gives their names one after the other.

    So many ``workers`` share them where there are enough, 0 is for as many as there are processors.
    """
    if workers == 1 or len(files) < MIN_FILES_FOR_WORKERS:
        yield from _check_in_process(files, run, check_file)
        return
    from podplan.checker.workers import count_usable_processors

    worker_count = workers or count_usable_processors()
    unshared_files = files[: FILES_BEFORE_FORK if worker_count > 1 else len(files)]
    yield from _check_in_process(unshared_files, run, check_file)
    if len(files) > len(unshared_files):
        yield from _check_in_workers(worker_count, files[len(unshared_files) :], run, check_file)


def _check_in_workers(
    worker_count: int, files: Sequence[str], run: CheckRun, check_file: CheckFile
) -> Iterator[str]:
    """The same by so many workers; what they do not bring back is done here."""
    from podplan.checker.worker_result import check_share, merge_worker_result
    from podplan.checker.workers import run_in_workers

    tasks = [files[start : start + FILES_PER_TASK] for start in range(0, len(files), FILES_PER_TASK)]
    with closing(
        run_in_workers(tasks, partial(check_share, run, check_file), worker_count)
    ) as worker_results:
        for task, worker_result in zip(tasks, worker_results, strict=True):
            if worker_result is not None and merge_worker_result(worker_result, run):
                yield from task
            else:
                yield from _check_in_process(task, run, check_file)


def _check_in_process(files: Iterable[str], run: CheckRun, check_file: CheckFile) -> Iterator[str]:
    for file in files:
        yield file
        check_file(file, run)
