"""Work done by processes that are forked from this one, and given back in the order of the tasks.

Each worker has every n-th task and a pipe that it writes what it made to; a pipe that is full makes it wait.
A worker that comes to harm, or to an error, only ends: whoever asked does what is missing, and meets the
same error in the right place. One whose parent is gone ends at the next thing that it has made.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress

from podplan.core.typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Task = TypeVar("Task")
Output = TypeVar("Output")

# More of them cost more memory than they save time, and a container may have fewer processors than it sees.
MAX_WORKERS = 8


def count_usable_processors() -> int:
    """How many workers pay here; 1 where none can be forked: libraries of macOS do not bear it."""
    return min(len(os.sched_getaffinity(0)), MAX_WORKERS) if sys.platform == "linux" else 1


def run_in_workers(
    tasks: Sequence[Task], run_task: Callable[[Task], Output], worker_count: int
) -> Generator[Output | None, None, None]:
    """What ``work`` makes of each task, in order; None where nobody made it. What is made must be picklable.

    ``number`` are the workers, one at least, and no more than tasks. To close the iterator is to end them.
    """
    from multiprocessing import get_context

    worker_count = min(worker_count, len(tasks))
    fork = get_context("fork")
    readers: dict[int, Connection] = {}
    workers = []
    gc.freeze()  # a worker that looks for garbage would else copy all that it shares with this process
    try:
        for first_task in range(worker_count):
            # There may be no more processes or files, and a daemon of multiprocessing may have none.
            with suppress(OSError, AssertionError):
                readers[first_task], writer = fork.Pipe(duplex=False)
                worker_args = tasks[first_task::worker_count], run_task, writer, tuple(readers.values())
                worker = fork.Process(target=_run_worker, args=worker_args, daemon=True)
                with closing(writer):
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
    """What a worker does. It ends on signals without a word: that is for its parent to say."""
    for name in ("SIGTERM", "SIGHUP", "SIGINT", "SIGALRM"):
        signal_number = getattr(signal, name)
        if callable(signal.getsignal(signal_number)):
            signal.signal(signal_number, signal.SIG_DFL)
    for reader in readers:  # or a worker that has no parent any more would wait for another to read
        reader.close()
    with suppress(BaseException):
        _enlarge_pipe(writer)
        for task in tasks:
            writer.send(run_task(task))


def _enlarge_pipe(writer: Connection) -> None:
    """Lets a worker get ahead of the others by more than one task."""
    import fcntl

    with suppress(OSError):
        fcntl.fcntl(writer.fileno(), fcntl.F_SETPIPE_SZ, 1024 * 1024)
