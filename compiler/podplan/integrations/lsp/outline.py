"""The structure of a YAML text by indentation and brackets, also while it does not parse.

A parser stops at the first syntax error; this module only determines the path at the cursor, and the existing
keys. It ignores anchors, tags and keys with several lines.
"""

from __future__ import annotations

import re

from podplan.core.findings import Path
from podplan.core.typing import NamedTuple

# These patterns take linear time, because the text may be anything.
_KEY = re.compile(
    r"""("[^"]*"|'[^']*'|(?:-[^\s#:]|[^\s#\[\]{},&*!|>'"%@`:-])(?:[^#:]*[^\s#:])?)[ ]*:(?=[ \t\r]|$)"""
)
_BLOCK = re.compile(r"[|>][-+0-9]*[ \t]*(#.*)?$")
_DASH = re.compile(r"-([ \t]+|$)")
_WORD = re.compile(r"[^\s,:{}\[\]\"'#]*")
_MAX_DEPTH = 100
_MAX_CHARACTERS = 1_000_000  # of a text that is parsed


class OutlineCursor(NamedTuple):
    """The position of the cursor.

    At a key, ``path`` leads to the mapping that contains it, or would contain it; at a value, to that value.
    ``word`` is the text before the cursor, ``suffix`` its rest. ``is_new``: nothing is written at the path
    yet, so a key may be a value as well.
    """

    path: Path
    at_key: bool
    word: str
    suffix: str
    is_new: bool = False

    @property
    def field_path(self) -> Path:
        """The path of the field at the cursor."""
        name = self.word + self.suffix
        return (*self.path, name) if self.at_key and name else self.path


class Outline(NamedTuple):
    """The keys of mappings and the text of scalars, by path, of the document at the cursor."""

    keys: dict[Path, list[str]]
    values: dict[Path, str]
    cursor: OutlineCursor | None


class _Frame:
    """An open block collection: its column, its path, and the current entry."""

    __slots__ = ("column", "entry", "is_list", "open", "path")

    def __init__(self, column: int, path: Path, is_list: bool) -> None:
        self.column = column
        self.path = path
        self.is_list = is_list
        self.entry: str | int = -1
        self.open = True  # nothing is written yet after the key or dash

    @property
    def entry_path(self) -> Path:
        return (*self.path, self.entry)


def parse_outline(lines: list[str], line: int, column: int) -> Outline:
    """Return the outline of the document at a 0-based line and column (in code points)."""
    if sum(map(len, lines)) > _MAX_CHARACTERS:
        return Outline({}, {}, None)
    first = next((at for at in range(min(line, len(lines) - 1), -1, -1) if _is_marker(lines[at])), -1) + 1
    last = next((at for at in range(first, len(lines)) if at > line and _is_marker(lines[at])), len(lines))
    parser = _OutlineParser(lines[first:last], line - first, column)
    parser.parse()
    return Outline(parser.keys, parser.values, parser.cursor)


def _is_marker(line: str) -> bool:
    return line.startswith("---") and line[3:4] in ("", " ", "\t")


class _OutlineParser:
    def __init__(self, lines: list[str], line: int, column: int) -> None:
        self.lines = lines
        self.cursor_position = (line, column)
        self.keys: dict[Path, list[str]] = {}
        self.values: dict[Path, str] = {}
        self.cursor: OutlineCursor | None = None
        self._frames: list[_Frame] = []

    def parse(self) -> None:
        number = 0
        block: int | None = None  # the column of the key of a block scalar
        while number < len(self.lines):
            line = self.lines[number]
            indent = len(line) - len(line.lstrip(" "))
            inside = block is not None and (indent > block or not line.strip())
            if not inside:
                block = None
                if number == self.cursor_position[0]:
                    self._locate_cursor(line[: self.cursor_position[1]], line)
                if line.strip() and not line.lstrip().startswith("#") and len(self._frames) < _MAX_DEPTH:
                    number, block = self._parse_line(number, line, indent)
            number += 1

    def _parse_line(self, number: int, line: str, indent: int) -> tuple[int, int | None]:
        """Parse one line in block style; return the last line that belongs to it, and the column of a
        block scalar."""
        column = self._parse_dashes(line, indent)
        key = _KEY.match(line, column)
        if key is None:
            value, column_of = column, indent
            path = self._frames[-1].entry_path if self._frames else ()
        else:
            frame = self._enter_mapping(column)
            frame.entry = _remove_quotes(key[1])
            if (number, column) != (self.cursor_position[0], self._find_key_column()):
                self.keys.setdefault(frame.path, []).append(frame.entry)
            value, column_of, path = key.end(), column, frame.entry_path
        text = line[value:].strip()
        if self._frames:
            self._frames[-1].open = not text or text.startswith("#")
        if _BLOCK.match(text):
            return number, column_of
        if text[:1] in ("{", "["):
            return self._parse_flow(number, line.index(text[0], value), path, column_of), None
        if text and (key is not None or (self._frames and self._frames[-1].is_list)):
            self.values[path] = _parse_scalar(text)
        return number, None

    def _find_key_column(self) -> int:
        """Return the column of the key at the cursor, which is not its own sibling."""
        if self.cursor is None or not self.cursor.at_key:
            return -1
        return self.cursor_position[1] - len(self.cursor.word)

    def _parse_dashes(self, line: str, column: int) -> int:
        """Parse the dashes of a line; return the column after them."""
        while len(self._frames) < _MAX_DEPTH and (dash := _DASH.match(line, column)):
            while self._frames and self._frames[-1].column > column:
                self._frames.pop()
            if not (self._frames and self._frames[-1].column == column and self._frames[-1].is_list):
                self._push_frame(column, True)
            frame = self._frames[-1]
            frame.entry = int(frame.entry) + 1
            frame.open = True
            column = dash.end()
        return column

    def _enter_mapping(self, column: int) -> _Frame:
        """Return the mapping whose keys are at a column."""
        self._close_mappings(column)
        if not (self._frames and self._frames[-1].column == column):
            self._push_frame(column, False)
        return self._frames[-1]

    def _close_mappings(self, column: int) -> None:
        while self._frames and (
            self._frames[-1].column > column
            or (self._frames[-1].column == column and self._frames[-1].is_list)
        ):
            self._frames.pop()

    def _push_frame(self, column: int, is_list: bool) -> None:
        self._frames.append(_Frame(column, self._frames[-1].entry_path if self._frames else (), is_list))

    def _locate_cursor(self, before: str, line: str) -> None:
        """Determine the path at the cursor, in a line in block style."""
        rest = _WORD.match(line, len(before))
        after = rest[0] if rest else ""
        column = len(before) - len(before.lstrip(" "))
        frames = [
            (frame.column, frame.path, frame.is_list, frame.entry, frame.open) for frame in self._frames
        ]
        column = self._parse_dashes(before, column) if _DASH.match(before, column) else column
        key = _KEY.match(before, column)
        text = before[column:]
        if text.startswith("#"):
            self.cursor = None
        elif key is not None:
            self._close_frames(column)
            value = before[key.end() :].lstrip(" ")
            path = (
                self._frames[-1].path
                if self._frames and self._frames[-1].column == column
                else (self._frames[-1].entry_path if self._frames else ())
            )
            if value[:1] not in ("{", "[", "|", ">") and "#" not in value:
                self.cursor = OutlineCursor(
                    (*path, _remove_quotes(key[1])), False, value.lstrip("\"'"), after
                )
        elif _WORD.fullmatch(text):
            self._close_frames(column)
            self.cursor = self._build_key_cursor(column, text, after)
        self._frames = [_restore_frame(*one) for one in frames]

    def _close_frames(self, column: int) -> None:
        while self._frames and self._frames[-1].column > column:
            self._frames.pop()
        if self._frames and self._frames[-1].column == column and self._frames[-1].is_list:
            self._frames.pop()

    def _build_key_cursor(self, column: int, word: str, rest: str) -> OutlineCursor:
        if not self._frames:
            return OutlineCursor((), True, word, rest)
        top = self._frames[-1]
        if top.column < column and (top.open or top.is_list):
            return OutlineCursor(top.entry_path, True, word, rest, is_new=True)
        return OutlineCursor(top.path, True, word, rest)

    # --- flow style

    def _parse_flow(self, number: int, column: int, path: Path, base: int) -> int:
        """Parse a flow collection to its end, or to a line that cannot belong to it; return the last line."""
        stack: list[tuple[str, Path]] = []
        key: list[str | int | None] = []
        word, start, quote = "", column, ""
        while number < len(self.lines):
            line = self.lines[number]
            while column <= len(line):
                if (number, column) == self.cursor_position and stack:
                    self.cursor = self._build_flow_cursor(stack[-1], key[-1], word, line, column, quote)
                if column == len(line):
                    break
                character = line[column]
                column += 1
                if quote:
                    word, quote = (word, "") if character == quote else (word + character, quote)
                elif character in "\"'" and not word.strip():
                    word, quote = "", character
                elif character == "#" and line[column - 2 : column - 1] in (" ", ""):
                    if (number, self.cursor_position[1]) == self.cursor_position and self.cursor_position[
                        1
                    ] >= column:
                        self.cursor = None
                    break
                elif character in "{[":
                    if len(stack) >= _MAX_DEPTH:
                        return number
                    path = _join_entry_path(stack[-1], key[-1]) if stack else path
                    stack.append((character, path))
                    key.append(None if character == "{" else 0)
                    word, start = "", column
                elif (
                    character == ":"
                    and stack[-1][0] == "{"
                    and line[column : column + 1] in ("", " ", ",", "}")
                ):
                    key[-1] = word.strip()
                    if not self._is_cursor_between(number, start, column - 1):
                        self.keys.setdefault(stack[-1][1], []).append(word.strip())
                    word, start = "", column
                elif character in ",}]":
                    if not self._is_cursor_between(number, start, column - 1) or key[-1] is not None:
                        self._add_entry(stack[-1], key[-1], word)
                    if character != ",":
                        stack.pop()
                        key.pop()
                        if not stack:
                            return number
                    elif stack[-1][0] == "{":
                        key[-1] = None
                    else:
                        key[-1] = int(key[-1] or 0) + 1
                    word, start = "", column
                else:
                    word += character
            number, column, word, start, quote = number + 1, 0, "", 0, ""
            if number < len(self.lines) and _starts_block_line(self.lines[number], base):
                return number - 1
        return number

    def _is_cursor_between(self, number: int, start: int, end: int) -> bool:
        return number == self.cursor_position[0] and start <= self.cursor_position[1] <= end

    def _add_entry(self, frame: tuple[str, Path], key: str | int | None, word: str) -> None:
        text = word.strip()
        if text and key is not None:
            self.values[_join_entry_path(frame, key)] = text
        elif text:
            self.keys.setdefault(frame[1], []).append(text)

    def _build_flow_cursor(
        self, frame: tuple[str, Path], key: str | int | None, word: str, line: str, column: int, quote: str
    ) -> OutlineCursor:
        rest = _WORD.match(line, column)
        after = rest[0] if rest else ""
        if key is None:
            return OutlineCursor(frame[1], True, word.lstrip(), after)
        return OutlineCursor(_join_entry_path(frame, key), False, word.lstrip() if not quote else word, after)


def _restore_frame(column: int, path: Path, is_list: bool, entry: str | int, is_open: bool) -> _Frame:
    frame = _Frame(column, path, is_list)
    frame.entry, frame.open = entry, is_open
    return frame


def _join_entry_path(frame: tuple[str, Path], key: str | int | None) -> Path:
    return (*frame[1], key) if key is not None else frame[1]


def _starts_block_line(line: str, base: int) -> bool:
    """Whether a line is in block style, so that an open bracket above it is unclosed."""
    indent = len(line) - len(line.lstrip(" "))
    return (
        bool(line.strip()) and indent <= base and bool(_KEY.match(line, indent) or _DASH.match(line, indent))
    )


def _parse_scalar(text: str) -> str:
    return _remove_quotes(text.partition(" #")[0])


def _remove_quotes(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
