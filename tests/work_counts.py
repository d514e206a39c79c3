"""How much work something is: counted, and not timed, so that a busy machine makes no difference.

What takes twice the work for twice the input takes four times the work for four times the input, or less.
What C does without a call has no count; of its time only the ratio is looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from cProfile import Profile
from time import process_time
from types import FrameType
from typing import Any


def work(function: Callable[[], Any]) -> int:
    """How many calls are made, of what is written in Python and in C, and how many lines of podplan are run.

    Each round of a loop is a line at least, also in a comprehension that calls nothing.
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
    """How many times as long ``function(many)`` takes as ``function(few)``, each at its best of five."""

    def taken(number: int) -> float:
        begun = process_time()
        function(number)
        return process_time() - begun

    first, last = (min(taken(number) for _ in range(5)) for number in (few, many))
    return last / first
