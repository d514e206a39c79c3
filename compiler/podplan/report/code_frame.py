"""Code frames: a line of a file with a location underlined, clipped to the available width."""

from __future__ import annotations

from unicodedata import combining, east_asian_width

from podplan.core.findings import Location
from podplan.report.sanitization import escape_text

TAB_REPLACEMENT = "    "
MAX_UNDERLINE = 120
CONTEXT_COLUMNS = 20  # columns of context before a location in a clipped line
ELLIPSIS = "…"


def sanitize_line(text: str) -> str:
    """Return a line for display: tabs as spaces, without characters that a terminal would interpret."""
    return escape_text(text.replace("\t", TAB_REPLACEMENT))


def count_columns(text: str) -> int:
    """Return the number of terminal columns of a text."""
    if text.isascii():
        return len(text)
    return sum(map(_measure_character, text))


def underline_location(location: Location, line: str, width: int, sign: str) -> tuple[str, str]:
    """Return the line of a location, and one with ``sign`` under the location; at most ``width`` columns
    each."""
    line, start = clip_line(line, location.column - 1, width)
    end = (
        location.end_column - location.column + start
        if location.end_line == location.line
        else len(line.rstrip())
    )
    column_offset = count_columns(sanitize_line(line[:start]))
    length = max(1, min(count_columns(sanitize_line(line[start:end])), MAX_UNDERLINE))
    text, shift = clip_to_width(sanitize_line(line), column_offset, length, width)
    return text, " " * shift + sign * max(1, min(length, width - shift))


def clip_line(line: str, start: int, width: int) -> tuple[str, int]:
    """Return the part of a line around an offset that could be shown, and the offset in it."""
    first = max(0, start - compute_reach(width))
    return line[first : start + compute_reach(width)], start - first


def compute_reach(width: int) -> int:
    """Return an upper bound of the characters on either side of a location that fit into ``width``
    columns."""
    return 2 * width + MAX_UNDERLINE


def clip_to_width(text: str, column_offset: int, length: int, width: int) -> tuple[str, int]:
    """Clip a text to ``width`` columns around the location that begins after ``column_offset`` columns.

    Return the text, and the number of columns before the location in it.
    """
    if max(count_columns(text), column_offset + length) <= width:
        return text, column_offset
    start = (
        max(0, min(column_offset - CONTEXT_COLUMNS, column_offset + length + 1 - width))
        if column_offset + length >= width
        else 0
    )
    start = max(start, column_offset + 3 - width)
    part, skipped = _slice_columns(text, start, width)
    return part, column_offset - skipped + (count_columns(ELLIPSIS) if start else 0)


def _slice_columns(text: str, start: int, width: int) -> tuple[str, int]:
    """Return ``width`` columns of a text from the column ``start``, and how many were skipped."""
    if text.isascii():
        clipped = ELLIPSIS if start else ""
        content_width = width - len(clipped)
        return clipped + (
            text[start:]
            if len(text) - start < content_width
            else text[start : start + content_width - 1] + ELLIPSIS
        ), start
    skipped, first = 0, 0
    while skipped < start:
        skipped += _measure_character(text[first])
        first += 1
    clipped = ELLIPSIS if start else ""
    used_columns = count_columns(clipped)
    for character in text[first:]:
        used_columns += _measure_character(character)
        if used_columns > width - 1:
            return clipped + ELLIPSIS, skipped
        clipped += character
    return clipped, skipped


def _measure_character(character: str) -> int:
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
