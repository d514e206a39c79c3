"""Checks files in this process or, if there are many, in worker processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial

from podplan.checker.run_state import CheckRun

CheckFile = Callable[[str, CheckRun], None]

# So many files are checked before workers are forked, which then share everything that was loaded.
FILES_BEFORE_FORK = 32
# With fewer files workers cost more time than they save.
MIN_FILES_FOR_WORKERS = 150
# Files in one batch of a worker.
FILES_PER_TASK = 16


def iter_checked_files(
    files: Sequence[str], run: CheckRun, check_file: CheckFile, workers: int
) -> Iterator[str]:
    """Check the files, and yield their names in order.

    ``workers`` processes share them if there are enough files, 0 is one per processor.
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
    """Check the files in ``worker_count`` workers; files whose worker failed are checked here."""
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
