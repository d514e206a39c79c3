"""The shape of a YAML text by indentation and brackets, also of one that does not parse while it is typed.

A reader of YAML gives up at the first fault; this one asks only where the cursor is and which keys there are.
Anchors, tags and keys in several lines mean nothing to it.
"""

from __future__ import annotations

import re

from podplan.core.findings import Path
from podplan.core.typing import NamedTuple

# Written so that they take linear time: the text may be of any kind.
_KEY = re.compile(
    r"""("[^"]*"|'[^']*'|(?:-[^\s#:]|[^\s#\[\]{},&*!|>'"%@`:-])(?:[^#:]*[^\s#:])?)[ ]*:(?=[ \t\r]|$)"""
)
_BLOCK = re.compile(r"[|>][-+0-9]*[ \t]*(#.*)?$")
_DASH = re.compile(r"-([ \t]+|$)")
_WORD = re.compile(r"[^\s,:{}\[\]\"'#]*")
_MAX_DEPTH = 100
_MAX_CHARACTERS = 1_000_000  # of a text that is looked at


class Cursor(NamedTuple):
    """Where the cursor is. At a key, ``path`` leads to the mapping that it is in, or would be; at a value, to
    that value. ``word`` is what is written before the cursor, ``rest`` what follows of it. ``fresh``: nothing
    is written at the path yet, so that a key can be a value as well."""

    path: Path
    at_key: bool
    word: str
    rest: str
    fresh: bool = False

    @property
    def whole(self) -> Path:
        """The path of the field that the cursor is on."""
        name = self.word + self.rest
        return (*self.path, name) if self.at_key and name else self.path


class Outline(NamedTuple):
    """The keys of mappings and the text of scalars, by path, of the document that the cursor is in."""

    keys: dict[Path, list[str]]
    values: dict[Path, str]
    cursor: Cursor | None


class _Frame:
    """A block collection on the way down: its column, its path, and the entry that is being read."""

    __slots__ = ("column", "entry", "is_list", "open", "path")

    def __init__(self, column: int, path: Path, is_list: bool) -> None:
        self.column = column
        self.path = path
        self.is_list = is_list
        self.entry: str | int = -1
        self.open = True  # nothing is written yet behind the key or dash

    @property
    def below(self) -> Path:
        return (*self.path, self.entry)


def outline(lines: list[str], line: int, column: int) -> Outline:
    """The outline of the document at a 0-based line and column (in code points)."""
    if sum(map(len, lines)) > _MAX_CHARACTERS:
        return Outline({}, {}, None)
    first = next((at for at in range(min(line, len(lines) - 1), -1, -1) if _is_marker(lines[at])), -1) + 1
    last = next((at for at in range(first, len(lines)) if at > line and _is_marker(lines[at])), len(lines))
    reader = _Reader(lines[first:last], line - first, column)
    reader.read()
    return Outline(reader.keys, reader.values, reader.cursor)


def _is_marker(line: str) -> bool:
    return line.startswith("---") and line[3:4] in ("", " ", "\t")


class _Reader:
    def __init__(self, lines: list[str], line: int, column: int) -> None:
        self.lines = lines
        self.at = (line, column)
        self.keys: dict[Path, list[str]] = {}
        self.values: dict[Path, str] = {}
        self.cursor: Cursor | None = None
        self._frames: list[_Frame] = []

    def read(self) -> None:
        number = 0
        block: int | None = None  # the column of the key that a block scalar belongs to
        while number < len(self.lines):
            line = self.lines[number]
            indent = len(line) - len(line.lstrip(" "))
            inside = block is not None and (indent > block or not line.strip())
            if not inside:
                block = None
                if number == self.at[0]:
                    self._look(line[: self.at[1]], line)
                if line.strip() and not line.lstrip().startswith("#") and len(self._frames) < _MAX_DEPTH:
                    number, block = self._line(number, line, indent)
            number += 1

    def _line(self, number: int, line: str, indent: int) -> tuple[int, int | None]:
        """One line of block style; the last line that belongs to it, and the column of a block scalar."""
        column = self._dashes(line, indent)
        key = _KEY.match(line, column)
        if key is None:
            value, column_of = column, indent
            path = self._frames[-1].below if self._frames else ()
        else:
            frame = self._mapping(column)
            frame.entry = _unquoted(key[1])
            if (number, column) != (self.at[0], self._key_at_cursor()):
                self.keys.setdefault(frame.path, []).append(frame.entry)
            value, column_of, path = key.end(), column, frame.below
        text = line[value:].strip()
        if self._frames:
            self._frames[-1].open = not text or text.startswith("#")
        if _BLOCK.match(text):
            return number, column_of
        if text[:1] in ("{", "["):
            return self._flow(number, line.index(text[0], value), path, column_of), None
        if text and (key is not None or (self._frames and self._frames[-1].is_list)):
            self.values[path] = _scalar(text)
        return number, None

    def _key_at_cursor(self) -> int:
        """The column of the key that the cursor is on, which is no sibling of itself."""
        if self.cursor is None or not self.cursor.at_key:
            return -1
        return self.at[1] - len(self.cursor.word)

    def _dashes(self, line: str, column: int) -> int:
        """Takes the dashes of a line; the column after them."""
        while len(self._frames) < _MAX_DEPTH and (dash := _DASH.match(line, column)):
            while self._frames and self._frames[-1].column > column:
                self._frames.pop()
            if not (self._frames and self._frames[-1].column == column and self._frames[-1].is_list):
                self._push(column, True)
            frame = self._frames[-1]
            frame.entry = int(frame.entry) + 1
            frame.open = True
            column = dash.end()
        return column

    def _mapping(self, column: int) -> _Frame:
        """The mapping whose keys stand at a column."""
        self._close(column)
        if not (self._frames and self._frames[-1].column == column):
            self._push(column, False)
        return self._frames[-1]

    def _close(self, column: int) -> None:
        while self._frames and (
            self._frames[-1].column > column
            or (self._frames[-1].column == column and self._frames[-1].is_list)
        ):
            self._frames.pop()

    def _push(self, column: int, is_list: bool) -> None:
        self._frames.append(_Frame(column, self._frames[-1].below if self._frames else (), is_list))

    def _look(self, before: str, line: str) -> None:
        """Notes where the cursor is, in a line of block style."""
        rest = _WORD.match(line, len(before))
        after = rest[0] if rest else ""
        column = len(before) - len(before.lstrip(" "))
        frames = [
            (frame.column, frame.path, frame.is_list, frame.entry, frame.open) for frame in self._frames
        ]
        column = self._dashes(before, column) if _DASH.match(before, column) else column
        key = _KEY.match(before, column)
        text = before[column:]
        if text.startswith("#"):
            self.cursor = None
        elif key is not None:
            self._close_to(column)
            value = before[key.end() :].lstrip(" ")
            path = (
                self._frames[-1].path
                if self._frames and self._frames[-1].column == column
                else (self._frames[-1].below if self._frames else ())
            )
            if value[:1] not in ("{", "[", "|", ">") and "#" not in value:
                self.cursor = Cursor((*path, _unquoted(key[1])), False, value.lstrip("\"'"), after)
        elif _WORD.fullmatch(text):
            self._close_to(column)
            self.cursor = self._key_cursor(column, text, after)
        self._frames = [_restored(*one) for one in frames]

    def _close_to(self, column: int) -> None:
        while self._frames and self._frames[-1].column > column:
            self._frames.pop()
        if self._frames and self._frames[-1].column == column and self._frames[-1].is_list:
            self._frames.pop()

    def _key_cursor(self, column: int, word: str, rest: str) -> Cursor:
        if not self._frames:
            return Cursor((), True, word, rest)
        top = self._frames[-1]
        if top.column < column and (top.open or top.is_list):
            return Cursor(top.below, True, word, rest, fresh=True)
        return Cursor(top.path, True, word, rest)

    # --- flow style

    def _flow(self, number: int, column: int, path: Path, base: int) -> int:
        """Reads a flow collection to its end, or to the line that cannot belong to it; the last line."""
        stack: list[tuple[str, Path]] = []
        key: list[str | int | None] = []
        word, start, quote = "", column, ""
        while number < len(self.lines):
            line = self.lines[number]
            while column <= len(line):
                if (number, column) == self.at and stack:
                    self.cursor = self._flow_cursor(stack[-1], key[-1], word, line, column, quote)
                if column == len(line):
                    break
                here = line[column]
                column += 1
                if quote:
                    word, quote = (word, "") if here == quote else (word + here, quote)
                elif here in "\"'" and not word.strip():
                    word, quote = "", here
                elif here == "#" and line[column - 2 : column - 1] in (" ", ""):
                    if (number, self.at[1]) == self.at and self.at[1] >= column:
                        self.cursor = None
                    break
                elif here in "{[":
                    if len(stack) >= _MAX_DEPTH:
                        return number
                    path = _below(stack[-1], key[-1]) if stack else path
                    stack.append((here, path))
                    key.append(None if here == "{" else 0)
                    word, start = "", column
                elif here == ":" and stack[-1][0] == "{" and line[column : column + 1] in ("", " ", ",", "}"):
                    key[-1] = word.strip()
                    if not self._is_on(number, start, column - 1):
                        self.keys.setdefault(stack[-1][1], []).append(word.strip())
                    word, start = "", column
                elif here in ",}]":
                    if not self._is_on(number, start, column - 1) or key[-1] is not None:
                        self._entry(stack[-1], key[-1], word)
                    if here != ",":
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
                    word += here
            number, column, word, start, quote = number + 1, 0, "", 0, ""
            if number < len(self.lines) and _begins_anew(self.lines[number], base):
                return number - 1
        return number

    def _is_on(self, number: int, start: int, end: int) -> bool:
        return number == self.at[0] and start <= self.at[1] <= end

    def _entry(self, frame: tuple[str, Path], key: str | int | None, word: str) -> None:
        text = word.strip()
        if text and key is not None:
            self.values[_below(frame, key)] = text
        elif text:
            self.keys.setdefault(frame[1], []).append(text)

    def _flow_cursor(
        self, frame: tuple[str, Path], key: str | int | None, word: str, line: str, column: int, quote: str
    ) -> Cursor:
        rest = _WORD.match(line, column)
        after = rest[0] if rest else ""
        if key is None:
            return Cursor(frame[1], True, word.lstrip(), after)
        return Cursor(_below(frame, key), False, word.lstrip() if not quote else word, after)


def _restored(column: int, path: Path, is_list: bool, entry: str | int, is_open: bool) -> _Frame:
    frame = _Frame(column, path, is_list)
    frame.entry, frame.open = entry, is_open
    return frame


def _below(frame: tuple[str, Path], key: str | int | None) -> Path:
    return (*frame[1], key) if key is not None else frame[1]


def _begins_anew(line: str, base: int) -> bool:
    """Whether a line is of block style, so that an open bracket above it was forgotten."""
    indent = len(line) - len(line.lstrip(" "))
    return (
        bool(line.strip()) and indent <= base and bool(_KEY.match(line, indent) or _DASH.match(line, indent))
    )


def _scalar(text: str) -> str:
    return _unquoted(text.partition(" #")[0])


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
