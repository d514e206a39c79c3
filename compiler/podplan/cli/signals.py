"""What ends a run from outside: signals, and the limit on its time. Neither leaves a file half-written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from podplan.cli.exit_codes import KILLED
from podplan.core.limits import MAX_SECONDS, OutOfTime, beyond
from podplan.core.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

AGAIN = 1.0  # seconds until an end that was raised, and did not come about, is raised again
SOON = 0.01  # seconds until it is looked again whether an import is over
_IMPORTS = "<frozen importlib._bootstrap>"


def heeded(run: Callable[[], int], bounded: bool) -> int:
    """What ``run`` returns. SIGTERM, SIGHUP and SIGINT end it as an error does, and so does the limit on its
    time, if it is ``bounded``.

    Raises SystemExit with 128 and the number of the signal, OutOfTime, and what ``run`` raises.
    """
    import signal

    told: list[int] = []
    timed = hasattr(signal, "setitimer")  # Windows has no such timer

    def end() -> BaseException:
        if timed and told[0] == signal.SIGALRM:
            return OutOfTime(beyond("seconds", "this takes too long, and is given up"))
        return SystemExit(KILLED + told[0])

    def stop(number: int, frame: FrameType | None) -> None:
        told.append(number)
        importing = _importing(frame)
        if timed:
            # What is raised may fall: where nobody can catch it, Python prints it and goes on.
            signal.setitimer(signal.ITIMER_REAL, SOON if importing else AGAIN, AGAIN)
        if not importing or not timed:
            raise end()

    # What is ignored, as under nohup, stays so.
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGINT") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    usual = (signal.SIG_DFL, signal.default_int_handler)
    ours = [number for number in numbers if before[number] in usual]
    if timed:
        before[signal.SIGALRM] = signal.getsignal(signal.SIGALRM)
        ours.append(signal.SIGALRM)
    try:
        for number in ours:
            signal.signal(number, stop)
        if timed and bounded:
            signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS, AGAIN)
        code = run()
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number in ours:
            signal.signal(number, before[number])
        if told:  # and fell, or became another error on its way
            raise end() from None
    return code


def _importing(frame: FrameType | None) -> bool:
    """Whether a module is being imported: a library in Rust panics where that is broken off."""
    while frame is not None and frame.f_code is not heeded.__code__:
        if frame.f_code.co_filename == _IMPORTS:
            return True
        frame = frame.f_back
    return False


@contextmanager
def held() -> Iterator[None]:
    """Signals wait until what is inside is done: a file has its place then, or nothing is left of it."""
    import signal

    if not hasattr(signal, "pthread_sigmask"):  # Windows has none
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(
            signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGALRM)
        )
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
