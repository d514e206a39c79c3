"""A line of a file with what it is about underlined, cut to the width there is."""

from __future__ import annotations

from unicodedata import combining, east_asian_width

from podplan.core.findings import Location
from podplan.report.sanitization import visible

TAB = "    "
MAX_UNDERLINED = 120
MARGIN = 20  # columns of context that stay before a place in a line that is cut
CUT = "…"


def shown_line(text: str) -> str:
    """A line as it is shown: tabs as spaces, and nothing that a terminal would obey."""
    return visible(text.replace("\t", TAB))


def columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def underlined(where: Location, line: str, width: int, mark: str) -> tuple[str, str]:
    """The line of a place, and one with ``mark`` under the place; at most ``width`` columns each."""
    line, start = near(line, where.column - 1, width)
    end = where.end_column - where.column + start if where.end_line == where.line else len(line.rstrip())
    before = columns(shown_line(line[:start]))
    length = max(1, min(columns(shown_line(line[start:end])), MAX_UNDERLINED))
    text, shift = window(shown_line(line), before, length, width)
    return text, " " * shift + mark * max(1, min(length, width - shift))


def near(line: str, start: int, width: int) -> tuple[str, int]:
    """The part of a line around an offset that could be shown, and the offset in it."""
    first = max(0, start - reach(width))
    return line[first : start + reach(width)], start - first


def reach(width: int) -> int:
    """How many characters on either side of a place could be shown in ``width`` columns, and more."""
    return 2 * width + MAX_UNDERLINED


def window(text: str, before: int, length: int, width: int) -> tuple[str, int]:
    """At most ``width`` columns of a text, around the place that begins after ``before`` columns.

    What comes with it is how many columns of the window stand before the place.
    """
    if max(columns(text), before + length) <= width:
        return text, before
    start = max(0, min(before - MARGIN, before + length + 1 - width)) if before + length >= width else 0
    start = max(start, before + 3 - width)
    part, skipped = _slice(text, start, width)
    return part, before - skipped + (columns(CUT) if start else 0)


def _slice(text: str, start: int, width: int) -> tuple[str, int]:
    """``width`` columns of a text from the column ``start``, and how many are left out before."""
    if text.isascii():
        kept = CUT if start else ""
        room = width - len(kept)
        return kept + (
            text[start:] if len(text) - start < room else text[start : start + room - 1] + CUT
        ), start
    skipped, first = 0, 0
    while skipped < start:
        skipped += _width(text[first])
        first += 1
    kept = CUT if start else ""
    taken = columns(kept)
    for character in text[first:]:
        taken += _width(character)
        if taken > width - 1:
            return kept + CUT, skipped
        kept += character
    return kept, skipped


def _width(character: str) -> int:
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
