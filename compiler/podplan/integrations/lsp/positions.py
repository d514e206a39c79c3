"""Positions of the protocol and ours: it counts from 0 in units of an encoding, we from 1 in code points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

from podplan.yaml.positions import LINE_BREAK

Encoding = Literal["utf-8", "utf-16", "utf-32"]
DEFAULT: Encoding = "utf-16"
_WIDTH = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
_CODEC = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}


def negotiated(offered: Any) -> Encoding:
    """The first encoding among those that the client offers, in its order, that we know; else UTF-16."""
    known = [one for one in offered if one in _WIDTH] if isinstance(offered, list) else []
    return cast(Encoding, known[0]) if known else DEFAULT


def lines(text: str) -> list[str]:
    """The lines of a text without their breaks, cut as the protocol cuts them."""
    return LINE_BREAK.split(text) if "\r" in text else text.split("\n")


def units(line: str, column: int, encoding: Encoding) -> int:
    """The units before a column (0-based, in code points) of a line; past the end counts as the end."""
    before = line[:column]
    if encoding == "utf-32" or before.isascii():
        return len(before)
    return len(before.encode(_CODEC[encoding])) // _WIDTH[encoding]


def column(line: str, count: int, encoding: Encoding) -> int:
    """The column (0-based, in code points) after so many units; inside a character it is before that one."""
    if encoding == "utf-32" or line.isascii():
        return min(max(count, 0), len(line))
    encoded = line.encode(_CODEC[encoding])[: max(count, 0) * _WIDTH[encoding]]
    return len(encoded.decode(_CODEC[encoding], "ignore"))


def position(written: Sequence[str], line: int, column_: int, encoding: Encoding) -> dict[str, int]:
    """The protocol's position for one of ours in the lines of a text (1-based line and column)."""
    number = min(max(line, 1), max(len(written), 1)) - 1
    text = written[number] if written else ""
    return {"line": number, "character": units(text, column_ - 1, encoding)}


def span(
    written: Sequence[str], place: tuple[int, int, int, int], encoding: Encoding
) -> dict[str, dict[str, int]]:
    """The range for line, column, end line and end column, 1-based, the end exclusive."""
    line, column_, end_line, end_column = place
    return {
        "start": position(written, line, column_, encoding),
        "end": position(written, end_line, end_column, encoding),
    }


def ours(written: Sequence[str], line: int, character: int, encoding: Encoding) -> tuple[int, int]:
    """Our 0-based line and column (in code points) of a position of the protocol; past the end is the end."""
    if line >= len(written):
        return max(len(written) - 1, 0), len(written[-1]) if written else 0
    return line, column(written[line], character, encoding)
