"""Counts work instead of measuring time, so that a busy machine makes no difference.

If doubling the input doubles the work, four times the input takes at most about four times the work. Work of
C code without calls is not counted; of its time only the ratio is tested.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from cProfile import Profile
from time import process_time
from types import FrameType
from typing import Any


def work(function: Callable[[], Any]) -> int:
    """Count calls of Python and C functions, and the executed lines of podplan.

    Each iteration of a loop is at least one line, also in a comprehension without calls.
    """
    lines = 0

    def tell(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return tell if frame.f_globals.get("__name__", "").startswith("podplan.") else None

    profile = Profile()
    before = sys.gettrace()
    sys.settrace(tell)
    try:
        profile.runcall(function)
    finally:
        sys.settrace(before)
    return lines + sum(entry.callcount for entry in profile.getstats())


def slowdown(function: Callable[[int], object], few: int, many: int) -> float:
    """Return the ratio of the times of ``function(many)`` and ``function(few)``, each the best of five."""

    def taken(number: int) -> float:
        begun = process_time()
        function(number)
        return process_time() - begun

    first, last = (min(taken(number) for _ in range(5)) for number in (few, many))
    return last / first
