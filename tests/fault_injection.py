"""Runs podplan with a fault at a chosen step: reads orders, prints results.

A step is any access of the run to a path below its folder: opening, creating, renaming, removing, listing.
The interpreter reports each beforehand (https://docs.python.org/3/library/audit_events.html), and the fault
happens at that moment: a signal, a system error, a concurrent change by another process. Signals may also
occur between steps: at each line, or at each bytecode of code that writes files. Each run is a fork of this
process, which has already imported podplan.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, Any, NamedTuple

from tests.command import warm

STEPS = {"open", "os.rename", "os.remove", "os.chmod", "os.mkdir", "os.scandir", "os.listdir"}
PATIENCE = 20  # timeout of a run in seconds, on a shared machine
SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT, "hup": signal.SIGHUP}
ERRORS = {"full": errno.ENOSPC, "denied": errno.EACCES, "broken": errno.EIO, "read-only": errno.EROFS}
OTHERS = ("vanishes", "changes", "fifo", "folder", "link")
CHANGED = "# changed meanwhile\n"
FAULTS = (*SIGNALS, *ERRORS, *OTHERS)
AGAIN = "again"  # SIGTERM, and again at each later step
UNCAUGHT = {"quit": signal.SIGQUIT, "xcpu": signal.SIGXCPU, "usr1": signal.SIGUSR1, "pipe": signal.SIGPIPE}
WRITERS = {"podplan.cli.output", "podplan.cli.check_cache", "podplan.cli.signals", "tempfile"}


class End(NamedTuple):
    """The result of a run: its exit code, negative for a signal as in subprocess; its output; its steps."""

    code: int
    out: str
    err: str
    steps: int


class Faulty:
    """The process that makes the runs. Use as ``with faulty() as runs: runs.run(...)``."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(
        self, folder: Path, arguments: Sequence[str], fault: str = "", step: int = -1, steps: str = "paths"
    ) -> End:
        """Run ``podplan arguments`` in a folder; at the step with this number, from 0, ``fault`` happens.

        Steps are accesses with "paths", all "lines", or the bytecodes of "writing".
        """
        stdin, stdout = self._streams()
        print(json.dumps([str(folder), list(arguments), fault, step, steps]), file=stdin, flush=True)
        answer = stdout.readline()
        assert answer, "the process that makes the runs is gone"
        return End(*json.loads(answer))

    def _streams(self) -> tuple[IO[str], IO[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout


@contextmanager
def faulty() -> Any:
    """Start a process that makes runs, and end it with the ``with`` block."""
    root = Path(__file__).parents[1]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(root), *filter(None, sys.path)]),
        # Runs may use a cache, but not that of the current user.
        "PODPLAN_NO_CACHE": "",
        "XDG_CACHE_HOME": "/nowhere",
    }
    with subprocess.Popen(
        [sys.executable, "-m", "tests.fault_injection"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=root,
    ) as process:
        try:
            yield Faulty(process)
        finally:
            process.kill()


def main() -> None:
    """Read orders and print results, a line of JSON each, until there are no more."""
    warm()
    for line in sys.stdin:
        print(json.dumps(_end(*json.loads(line))), flush=True)


def _end(folder: str, arguments: list[str], fault: str, step: int, steps: str) -> End:
    """Fork, run, and wait."""
    pipes = [os.pipe() for _ in range(3)]
    child = os.fork()
    if child == 0:
        try:
            for (ours, theirs), descriptor in zip(pipes[:2], (1, 2), strict=True):
                os.dup2(theirs, descriptor)
                os.close(ours)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.chdir(folder)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            _run(arguments, fault, step, steps, pipes[2][1])
        finally:
            os._exit(99)
    for _, theirs in pipes:
        os.close(theirs)
    return End(*_waited(child, [ours for ours, _ in pipes]))


def _waited(child: int, ours: list[int]) -> tuple[int, str, str, int]:
    """Wait for a child; one that hangs is killed, and its code is that of no process."""
    texts = ["", "", ""]
    import selectors

    selector = selectors.DefaultSelector()
    for number, one in enumerate(ours):
        selector.register(one, selectors.EVENT_READ, number)
    deadline, late = time.monotonic() + PATIENCE, False
    while selector.get_map():
        ready = selector.select(max(deadline - time.monotonic(), 0))
        if not ready and not late:
            late = True
            os.kill(child, signal.SIGKILL)
            deadline += PATIENCE
        for key, _ in ready:
            piece = os.read(key.fd, 65536)
            texts[key.data] += piece.decode(errors="replace")
            if not piece:
                selector.unregister(key.fd)
                os.close(key.fd)
    _, status = os.waitpid(child, 0)
    code = 999 if late else os.waitstatus_to_exitcode(status)
    return code, texts[0], texts[1], len(texts[2])


def _run(arguments: list[str], fault: str, step: int, steps: str, counted: int) -> None:
    """In the child: run podplan with the fault."""
    from podplan.cli import main as podplan

    sys.argv = ["podplan", *arguments]
    # The stream from before the fork may still have unwritten output of the parent.
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    for number in (*SIGNALS.values(), *UNCAUGHT.values()):
        if number not in (signal.SIGKILL, signal.SIGPIPE):
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    if steps == "paths":
        _watch(os.getcwd(), fault, step, counted)
    else:
        traced = _trace(steps == "writing", fault, step)
    code = 98
    try:
        podplan()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    sys.settrace(None)
    if steps != "paths":
        os.write(counted, b"." * traced())
    # As the interpreter does at exit.
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(code)


def _watch(folder: str, fault: str, step: int, counted: int) -> None:
    steps = 0
    inside = False

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal steps, inside
        if inside or event not in STEPS or not args or not _is_below(args[0], folder):
            return
        inside = True
        try:
            os.write(counted, b".")
            steps += 1
            if steps - 1 == step or (fault == AGAIN and 0 <= step < steps):
                _happens(fault, os.fspath(args[0]))
        finally:
            inside = False

    sys.addaudithook(hook)


def _trace(writing: bool, fault: str, step: int) -> Callable[[], int]:
    """Inject a signal at a line, or at a bytecode of writing code; return a function that counts them."""
    steps = 0

    def tell(frame: FrameType, event: str, _: object) -> Any:
        nonlocal steps
        if writing:
            if frame.f_globals.get("__name__") not in WRITERS:
                return None
            frame.f_trace_opcodes = True
        if event == ("opcode" if writing else "line"):
            steps += 1
            if steps - 1 == step:
                signal.raise_signal(SIGNALS[fault])
        return tell

    sys.settrace(tell)
    return lambda: steps


def _is_below(path: object, folder: str) -> bool:
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    return os.fsdecode(os.path.join(os.fsencode(folder), os.fsencode(path))).startswith(folder)


def _happens(fault: str, path: str) -> None:
    if number := ({AGAIN: signal.SIGTERM} | SIGNALS | UNCAUGHT).get(fault):
        os.kill(os.getpid(), number)
        return
    if fault in ERRORS:
        raise OSError(ERRORS[fault], os.strerror(ERRORS[fault]), path)
    with suppress(OSError):
        MEDDLING[fault](path)


def _gone(path: str) -> None:
    import shutil

    shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)


def _changed(path: str) -> None:
    if os.path.isfile(path):
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(CHANGED)


def _replaced(make: Callable[[str], object]) -> Callable[[str], None]:
    def act(path: str) -> None:
        if os.path.isfile(path):
            os.remove(path)
            make(path)

    return act


MEDDLING: Mapping[str, Callable[[str], None]] = {
    "vanishes": _gone,
    "changes": _changed,
    "fifo": _replaced(os.mkfifo),
    "folder": _replaced(os.mkdir),
    "link": _replaced(lambda path: os.symlink("/etc/hostname", path)),
}


if __name__ == "__main__":
    main()
