"""Durations of a profile, such as 1h30m, as seconds and back."""

from __future__ import annotations

import re

from podplan.core.lazy_regex import compile_lazily

_DURATION_PATTERN = compile_lazily(r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?", re.ASCII)
_UNIT_SECONDS = (86_400, 3_600, 60, 1)


def parse_duration(duration: str) -> int:
    """A duration such as 1h30m in seconds."""
    match = _DURATION_PATTERN.fullmatch(duration)
    parts = match.groups() if match else ()
    return sum(int(count) * unit for count, unit in zip(parts, _UNIT_SECONDS, strict=False) if count)


def format_duration(seconds: int) -> str | int:
    """Whole hours or minutes as a duration, other seconds as they are."""
    for unit, name in ((3_600, "h"), (60, "m")):
        if seconds % unit == 0:
            return f"{seconds // unit}{name}"
    return seconds
