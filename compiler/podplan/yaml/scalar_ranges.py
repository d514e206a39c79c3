"""Maps a range of a scalar's value to the text that it was parsed from."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple
from podplan.yaml.positions import LINE_BREAK

_PROPERTIES = compile_lazily(r"(?:[&!]\S*\s+)*")
_HEADER = compile_lazily(r"[|>][^\r\n]*(?:\r\n?|\n)")
_DOUBLE_ESCAPE = compile_lazily(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_SINGLE_ESCAPE = compile_lazily(r"''")


class _Segment(NamedTuple):
    """A part of the value and its source text; an escape is one character of it."""

    value: int
    text: int
    length: int


class _Line(NamedTuple):
    """A line of a scalar without its indentation, and the offset of its start."""

    offset: int
    text: str


def range_in_text(
    text: str, place: tuple[int, int], value: str, wanted: tuple[int, int]
) -> tuple[int, int] | None:
    """Return the offsets in ``text`` of the range ``wanted`` of ``value``, a scalar at ``place``.

    None if text and value do not match, as for an alias, or if only a full parser could decide.
    """
    segments = _segments(text, *place, value)
    if not segments or not 0 <= wanted[0] <= wanted[1] <= len(value):
        return None
    start, last = _offset(segments, wanted[0]), _offset(segments, max(wanted[1] - 1, wanted[0]))
    return start, max(last + (wanted[1] > wanted[0]), start)


def _offset(segments: list[_Segment], at: int) -> int:
    """Map an offset in the value to the text; a folded line break is the end of its line."""
    segment = segments[max(bisect_right(segments, (at, 1 << 62)) - 1, 0)]
    return segment.text + min(max(at - segment.value, 0), segment.length)


def _segments(text: str, start: int, end: int, value: str) -> list[_Segment] | None:
    properties = _PROPERTIES.match(text, start, end)
    begin = properties.end() if properties else start
    style = text[begin : begin + 1]
    if style in ("|", ">"):
        header = _HEADER.match(text, begin, end)
        return (
            _match_lines(_remove_indentation(text, header.end(), end, value), style, value)
            if header
            else None
        )
    escape = {'"': _DOUBLE_ESCAPE, "'": _SINGLE_ESCAPE}.get(style)
    if escape is not None:
        begin, end = begin + 1, end - 1
    return _match_lines(_strip_blanks(text, begin, end), style if escape else "", value, escape)


def _lines(text: str, start: int, end: int) -> Iterator[_Line]:
    at = start
    for found in LINE_BREAK.finditer(text, start, end):
        yield _Line(at, text[at : found.start()])
        at = found.end()
    yield _Line(at, text[at:end])


def _remove_indentation(text: str, start: int, end: int, value: str) -> list[_Line]:
    """Return the lines of a block scalar without the indentation, which its first line determines."""
    lines = list(_lines(text, start, end))
    first = next((line.text for line in lines if line.text.strip(" ")), "")
    indent = max(_leading(first) - _leading(value.lstrip("\n")), 0)
    return [_Line(line.offset + min(indent, len(line.text)), line.text[indent:]) for line in lines]


def _leading(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _strip_blanks(text: str, start: int, end: int) -> list[_Line]:
    """Return the lines of a plain or quoted scalar, without the blanks around its line breaks."""
    lines = list(_lines(text, start, end))
    for number, (offset, line) in enumerate(lines):
        kept = line.lstrip(" \t") if number else line
        offset += len(line) - len(kept)
        lines[number] = _Line(offset, kept.rstrip(" \t") if number < len(lines) - 1 else kept)
    return lines


def _match_lines(
    lines: list[_Line], style: str, value: str, escape: re.Pattern[str] | None = None
) -> list[_Segment] | None:
    """Match the lines with parts of the value, with blank lines and folds in between; None if one does not
    match."""
    segments: list[_Segment] = []
    at, blank, before = 0, 0, ""
    for number, line in enumerate(lines):
        if not line.text:
            blank += 1
            continue
        between = _between(style, blank, before, line.text, first=not before, number=number)
        if not value.startswith(between, at):
            return None
        at += len(between)
        for piece in _pieces(line, escape):
            if piece.text and not value.startswith(piece.text, at):
                return None
            length = len(piece.text) or 1
            segments.append(_Segment(at, piece.offset, length))
            at += length
        before, blank = line.text, 0
    return None if value[at:].strip("\n") or at > len(value) else segments


def _between(style: str, blank: int, before: str, line: str, *, first: bool, number: int) -> str:
    """Return the part of the value between two lines with ``blank`` blank ones between them."""
    if first and (style in ("|", ">") or not number):
        return "\n" * blank
    indented = style == ">" and (before[:1] in (" ", "\t") or line[:1] in (" ", "\t"))
    if style == "|" or indented:
        return "\n" * (blank + 1)
    if first:  # a quoted scalar whose first line is blank
        blank -= 1
    return "\n" * blank or " "


def _pieces(line: _Line, escape: re.Pattern[str] | None) -> Iterator[_Line]:
    """Yield the parts of a line around its escapes, each of which is an empty part."""
    at = 0
    for found in escape.finditer(line.text) if escape else ():
        if found.start() > at:
            yield _Line(line.offset + at, line.text[at : found.start()])
        yield _Line(line.offset + found.start(), "")
        at = found.end()
    if at < len(line.text):
        yield _Line(line.offset + at, line.text[at:])
