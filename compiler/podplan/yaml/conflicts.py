"""Markers of unresolved merge conflicts, which git writes into files."""

from __future__ import annotations

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple

# Git writes markers at the start of a line: seven equal characters, then a space and a name, or nothing.
_MARKER = compile_lazily(r"(?:\A\ufeff*|(?<=[\n\r]))(<<<<<<<|=======|>>>>>>>)(?![^ \r\n])")
_BEGIN, _MIDDLE, _END = "<<<<<<<", "=======", ">>>>>>>"


class Conflict(NamedTuple):
    """The first conflict of a text: the offsets of its first and last marker, and the number of conflicts."""

    first: int
    last: int
    number: int

    def message(self, line: int, end_line: int) -> str:
        """Return the message for the lines of the first and the last marker."""
        lines = f"lines {line} to {end_line}" if end_line > line else f"line {line}"
        if self.number > 1:
            what = f"{self.number:,} unresolved merge conflicts, the first in {lines}"
        else:
            what = f"an unresolved merge conflict in {lines}"
        return (
            f"this file has {what}, so nothing in it can be read;"
            " keep one side, and delete the lines that begin with <<<<<<<, ======= and >>>>>>>"
        )


def find_conflict(text: str) -> Conflict | None:
    """Return the first merge conflict in a text that does not parse, or None.

    A single marker that was not deleted counts. ``=======`` alone does not: it underlines titles.
    """
    found: list[tuple[int, int]] = []
    is_open = False
    for match in _MARKER.finditer(text):
        marker, at = match[1], match.start(1)
        if is_open and marker != _BEGIN:
            found[-1] = found[-1][0], at
        elif marker != _MIDDLE:
            found.append((at, at))
        if marker != _MIDDLE:
            is_open = marker == _BEGIN
    return Conflict(*found[0], len(found)) if found else None
