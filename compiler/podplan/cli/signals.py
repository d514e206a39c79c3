"""Ends a run on signals and on timeout, without half-written files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from podplan.cli.exit_codes import SIGNAL_BASE
from podplan.core.limits import MAX_SECONDS, RunTimeout, limit_exceeded
from podplan.core.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

RERAISE_INTERVAL = 1.0  # seconds until the exception is raised again, if it was swallowed
IMPORT_POLL_INTERVAL = 0.01  # seconds between checks whether an import has finished
_IMPORT_FRAME_FILE = "<frozen importlib._bootstrap>"


def run_with_signals(run: Callable[[], int], has_timeout: bool) -> int:
    """Run ``run`` and return its result; SIGTERM, SIGHUP, SIGINT and, with ``has_timeout``, the timeout end
    it.

    Raises SystemExit: with 128 and the number of the signal. Raises RunTimeout: on timeout. Raises what
    ``run`` raises.
    """
    import signal

    received: list[int] = []
    has_timer = hasattr(signal, "setitimer")  # Windows has no such timer

    def end() -> BaseException:
        if has_timer and received[0] == signal.SIGALRM:
            return RunTimeout(limit_exceeded("seconds", "this takes too long, and is given up"))
        return SystemExit(SIGNAL_BASE + received[0])

    def stop(number: int, frame: FrameType | None) -> None:
        received.append(number)
        importing = _is_importing(frame)
        if has_timer:
            # Python swallows an exception that is raised in some places, such as in a destructor.
            signal.setitimer(
                signal.ITIMER_REAL, IMPORT_POLL_INTERVAL if importing else RERAISE_INTERVAL, RERAISE_INTERVAL
            )
        if not importing or not has_timer:
            raise end()

    # Signals that are ignored, as under nohup, stay ignored.
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGINT") if hasattr(signal, name)]
    previous_handlers = {number: signal.getsignal(number) for number in numbers}
    default_handlers = (signal.SIG_DFL, signal.default_int_handler)
    handled = [number for number in numbers if previous_handlers[number] in default_handlers]
    if has_timer:
        previous_handlers[signal.SIGALRM] = signal.getsignal(signal.SIGALRM)
        handled.append(signal.SIGALRM)
    try:
        for number in handled:
            signal.signal(number, stop)
        if has_timer and has_timeout:
            signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS, RERAISE_INTERVAL)
        code = run()
    finally:
        if has_timer:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number in handled:
            signal.signal(number, previous_handlers[number])
        if received:  # and it was swallowed, or became another error
            raise end() from None
    return code


def _is_importing(frame: FrameType | None) -> bool:
    """Whether a module is being imported: a library in Rust panics if that is interrupted."""
    while frame is not None and frame.f_code is not run_with_signals.__code__:
        if frame.f_code.co_filename == _IMPORT_FRAME_FILE:
            return True
        frame = frame.f_back
    return False


@contextmanager
def defer_signals() -> Iterator[None]:
    """Block signals inside the ``with`` block, so that a file is either complete or removed."""
    import signal

    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(
            signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGALRM)
        )
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)
