"""Runs tasks in forked processes, and returns their results in the order of the tasks.

Each worker has every n-th task and a pipe for its results; a full pipe makes it wait. A worker that is killed
or fails just ends: the caller does its remaining tasks, and meets the same error at the right place. A worker
whose parent is gone ends at its next result.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress

from podplan.core.typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Task = TypeVar("Task")
Output = TypeVar("Output")

# A worker ends silently on these: its parent reports them.
_ENDING_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGINT", "SIGALRM") if hasattr(signal, name)
)
# More workers cost more memory than they save time, and a container may have fewer processors than it sees.
MAX_WORKERS = 8


def count_usable_processors() -> int:
    """Return the useful number of workers; 1 if forking is impossible: libraries of macOS do not support
    it."""
    return min(len(os.sched_getaffinity(0)), MAX_WORKERS) if sys.platform == "linux" else 1


def run_in_workers(
    tasks: Sequence[Task], run_task: Callable[[Task], Output], worker_count: int
) -> Generator[Output | None, None, None]:
    """Yield the result of ``run_task`` for each task, in order; None if its worker failed. Results must be
    picklable.

    ``worker_count`` is at least one, and at most the number of tasks. Closing the iterator ends the workers.
    """
    from multiprocessing import get_context

    worker_count = min(worker_count, len(tasks))
    fork = get_context("fork")
    readers: dict[int, Connection] = {}
    workers = []
    gc.freeze()  # garbage collection in a worker would otherwise copy all shared pages
    try:
        for first_task in range(worker_count):
            # Processes or file descriptors may run out, and a daemon of multiprocessing may have no children.
            with suppress(OSError, AssertionError):
                readers[first_task], writer = fork.Pipe(duplex=False)
                worker_args = tasks[first_task::worker_count], run_task, writer, tuple(readers.values())
                worker = fork.Process(target=_run_worker, args=worker_args, daemon=True)
                with closing(writer), _signals_blocked():
                    worker.start()
                workers.append(worker)
        for task_index in range(len(tasks)):
            yield _receive_output(readers.get(task_index % worker_count))
    finally:
        gc.unfreeze()
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.join()
        for reader in readers.values():
            reader.close()


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block signals while a worker is forked: it would print a traceback before it can handle them."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _receive_output(reader: Connection | None) -> Any:
    try:
        return reader and reader.recv()
    except (EOFError, OSError):
        return None


def _run_worker(
    tasks: Sequence[Task],
    run_task: Callable[[Task], Output],
    writer: Connection,
    readers: Sequence[Connection],
) -> None:
    """Run the tasks of a worker, which starts with blocked signals."""
    for signal_number in _ENDING_SIGNALS:
        if callable(signal.getsignal(signal_number)):
            signal.signal(signal_number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING_SIGNALS)
    for reader in readers:  # otherwise a worker without a parent would wait for another one to read
        reader.close()
    with suppress(BaseException):
        _enlarge_pipe(writer)
        for task in tasks:
            writer.send(run_task(task))


def _enlarge_pipe(writer: Connection) -> None:
    """Enlarge the pipe, so that a worker can be more than one task ahead of the others."""
    import fcntl

    with suppress(OSError):
        fcntl.fcntl(writer.fileno(), fcntl.F_SETPIPE_SZ, 1024 * 1024)
