"""Conversion of positions: LSP counts from 0 in units of an encoding, podplan from 1 in code points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

from podplan.yaml.positions import LINE_BREAK

Encoding = Literal["utf-8", "utf-16", "utf-32"]
DEFAULT_ENCODING: Encoding = "utf-16"
_WIDTH = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
_CODEC = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}


def negotiate_encoding(offered: Any) -> Encoding:
    """Return the first supported encoding that the client offers, in its order; else UTF-16."""
    supported = [one for one in offered if one in _WIDTH] if isinstance(offered, list) else []
    return cast(Encoding, supported[0]) if supported else DEFAULT_ENCODING


def split_lines(text: str) -> list[str]:
    """Return the lines of a text without their breaks, split as in LSP."""
    return LINE_BREAK.split(text) if "\r" in text else text.split("\n")


def count_units(line: str, column: int, encoding: Encoding) -> int:
    """Return the units before a column (0-based, in code points) of a line; past the end counts as the
    end."""
    prefix = line[:column]
    if encoding == "utf-32" or prefix.isascii():
        return len(prefix)
    return len(prefix.encode(_CODEC[encoding])) // _WIDTH[encoding]


def find_column(line: str, count: int, encoding: Encoding) -> int:
    """Return the column (0-based, in code points) after so many units; inside a character, before it."""
    if encoding == "utf-32" or line.isascii():
        return min(max(count, 0), len(line))
    encoded = line.encode(_CODEC[encoding])[: max(count, 0) * _WIDTH[encoding]]
    return len(encoded.decode(_CODEC[encoding], "ignore"))


def to_protocol_position(
    text_lines: Sequence[str], line: int, column_number: int, encoding: Encoding
) -> dict[str, int]:
    """Return the LSP position for a 1-based line and column in the lines of a text."""
    number = min(max(line, 1), max(len(text_lines), 1)) - 1
    text = text_lines[number] if text_lines else ""
    return {"line": number, "character": count_units(text, column_number - 1, encoding)}


def to_protocol_range(
    text_lines: Sequence[str], span_positions: tuple[int, int, int, int], encoding: Encoding
) -> dict[str, dict[str, int]]:
    """Return the LSP range for line, column, end line and end column, 1-based, the end exclusive."""
    line, column_number, end_line, end_column = span_positions
    return {
        "start": to_protocol_position(text_lines, line, column_number, encoding),
        "end": to_protocol_position(text_lines, end_line, end_column, encoding),
    }


def from_protocol_position(
    text_lines: Sequence[str], line: int, character: int, encoding: Encoding
) -> tuple[int, int]:
    """Return the 0-based line and column (in code points) of an LSP position; past the end is the end."""
    if line >= len(text_lines):
        return max(len(text_lines) - 1, 0), len(text_lines[-1]) if text_lines else 0
    return line, find_column(text_lines[line], character, encoding)
