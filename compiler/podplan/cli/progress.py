"""A progress line on a terminal for long runs, which disappears at the end of the run.

Only this module uses a clock for it: a run passes its files through ``Progress.track_files``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from podplan.core.typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading

    from podplan.checker.check import WatchProgress

START_DELAY = 1.0  # seconds; shorter runs show nothing
REFRESH_INTERVAL = 0.1
CLEAR_LINE = "\r\x1b[K"


class Progress:
    """The progress of a run: the number of the current file, of how many, and its name."""

    def __init__(self) -> None:
        self.number = 0
        self.total = 0
        self.file = ""

    def track_files(self, files: Iterable[str], total: int) -> Iterator[str]:
        """Yield the files; each is the current one until the next is requested."""
        self.number, self.total = 0, total
        for file in files:
            self.number += 1
            self.file = file
            yield file

    def format_line(self, width: int) -> str:
        """Return a line such as ``checking 12 of 340: jobs/bert.yaml``, in less than ``width`` columns."""
        from podplan.report.code_frame import count_columns
        from podplan.report.sanitization import escape_text

        if not self.number:
            return "reading …"[: width - 1]
        counted = f"checking {self.number} of {self.total}"
        full_line = f"{counted}: {escape_text(self.file)}"
        return full_line if count_columns(full_line) < width else counted[: max(width - 1, 0)]


@contextmanager
def show_progress(environment: Mapping[str, str] = os.environ) -> Iterator[WatchProgress | None]:
    """Show the progress inside the ``with`` block, if it takes long and standard error is a terminal."""
    if not _is_interactive(environment):
        yield None
        return
    # Everything that the thread needs is imported before: a process may be forked while it runs.
    from threading import Event, Thread

    from podplan.report import (
        sanitization,  # noqa: F401
    )

    progress, ended = Progress(), Event()
    writer = Thread(target=_write_progress, args=(progress, ended), daemon=True)
    writer.start()
    try:
        yield progress.track_files
    finally:
        ended.set()
        writer.join()


def _is_interactive(environment: Mapping[str, str]) -> bool:
    if environment.get("TERM", "dumb") == "dumb" or environment.get("CI", "") not in ("", "false", "0"):
        return False
    return sys.stderr is not None and sys.stderr.isatty()


def _write_progress(progress: Progress, ended: threading.Event) -> None:
    if ended.wait(START_DELAY):
        return
    try:
        while not ended.wait(REFRESH_INTERVAL):
            width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
            _write_terminal(CLEAR_LINE + progress.format_line(width))
        _write_terminal(CLEAR_LINE)
    except (OSError, ValueError):  # the terminal is gone
        return


def _write_terminal(text: str) -> None:
    sys.stderr.buffer.write(text.encode("utf-8", "replace"))
    sys.stderr.buffer.flush()
