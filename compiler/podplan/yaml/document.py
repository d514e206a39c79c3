"""One document of a file, and the lines and columns of its parts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from podplan.core.findings import Path, Span
from podplan.core.typing import Any, NamedTuple
from podplan.yaml.positions import (
    LINE_BREAK,
    EntryPosition,
    KeyTable,
    find_entry,
    find_merged_keys,
    find_offsets,
)

_BYTE_ORDER_MARK = "\ufeff"


class PositionedNode(NamedTuple):
    """A part of a document with its span, and the span of its key, None for an entry of a list.

    The offsets are 0-based, in code points of the text of the file.
    """

    path: Path
    value: Any
    key_span: tuple[int, int] | None
    span: tuple[int, int]


def count_byte_order_marks(text: str) -> int:
    """Count the byte order marks at the start of a text, which libyaml does not count."""
    return len(text) - len(text.lstrip(_BYTE_ORDER_MARK))


class LineIndex:
    """Line and column of offsets in a text; byte order marks, up to ``base``, take no column."""

    __slots__ = ("_starts", "base", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.base = count_byte_order_marks(text)
        self._starts: list[int] = []

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return the 1-based line and column of a 0-based offset."""
        if not self._starts:
            self._starts = [self.base, *_iter_line_starts(self.text)]
        line = max(bisect_right(self._starts, offset), 1)
        return line, max(offset - self._starts[line - 1], 0) + 1

    def build_span(self, start: int, end: int) -> Span:
        return Span(*self.line_and_column(start), *self.line_and_column(end), start, end)


def _iter_line_starts(text: str) -> Iterator[int]:
    """Yield the offsets of the second line and those after it."""
    if "\r" in text:
        return (match.end() for match in LINE_BREAK.finditer(text))
    return accumulate([len(line) + 1 for line in text.split("\n")[:-1]])


class Document:
    """One document of a file: plain data, and the position of each part.

    ``index`` counts from 0; empty documents are not counted, invalid ones are. Aliases share their values, so
    the data must not be changed in place.

    ``position`` is that of its value (see ``positions``), relative to ``base``; its lines begin at ``start``.
    ``key_tables`` has the keys of its mappings with merge keys.
    """

    __slots__ = ("_base", "_key_tables", "_lines", "_position", "_start", "data", "file", "index")

    def __init__(
        self,
        file: str,
        index: int,
        data: Any,
        position: tuple[Any, Any],
        key_tables: dict[int, KeyTable],
        lines: LineIndex,
        base: int,
        start: int,
    ) -> None:
        self.file = file
        self.index = index
        self.data = data
        self._position = position
        self._key_tables = key_tables
        self._lines = lines
        self._base = base
        self._start = start

    def __repr__(self) -> str:
        return f"Document({self.file!r}, {self.index})"

    @property
    def text(self) -> str:
        """The text of the whole file."""
        return self._lines.text

    @property
    def header(self) -> list[str]:
        """Return the comment lines between the start of the document and its content, without line breaks."""
        end = find_offsets(*self._position, self._base, self.text)[0]
        lines = (line.strip() for line in LINE_BREAK.split(self.text[self._start : end]))
        return [line for line in lines if line.startswith("#")]

    def has_path(self, path: Path) -> bool:
        """Whether a value, possibly null, is written at ``path``."""
        value = self.data
        for step in path:
            if isinstance(value, dict):
                if step not in value:
                    return False
            elif not (isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)):
                return False
            value = value[step]
        return True

    def span(self, path: Path, on_key: bool = False) -> Span:
        """Return the span of the value at ``path``, or with ``on_key`` that of its key.

        A missing value has the span of its nearest existing ancestor. An alias has its own span; values below
        it have those at its anchor. A block ends with its last value, without blank lines and comments after
        it.
        """
        entry, is_exact = self._find_nearest(path)
        return (on_key and is_exact and self._key_span(entry)) or self._lines.build_span(
            *find_offsets(entry.start, entry.end, self._base, self.text)
        )

    def text_span(self, path: Path, value: str, wanted: tuple[int, int]) -> Span | None:
        """Return the span of the range ``wanted`` of the string ``value`` at ``path``; None if it is
        unknown."""
        here, whole = self._find_nearest(path)
        if not whole:
            return None
        from podplan.yaml.scalar_ranges import range_in_text

        place = find_offsets(here.start, here.end, self._base, self.text)
        found = range_in_text(self.text, place, value, wanted)
        return self._lines.build_span(*found) if found is not None else None

    def key_span(self, path: Path) -> Span | None:
        """Return the span of the key of the value at ``path``, or of its nearest existing ancestor, or
        None."""
        return self._key_span(self._find_nearest(path)[0])

    def iter_nodes(self) -> Iterator[PositionedNode]:
        """Yield all nodes below the top, in the order of the data, parents before children.

        Each is found from its parent, and not from the top, so that the walk takes linear time.
        """
        stack = [self._iter_children(self.data, self._position[0], ())]
        while stack:
            item = next(stack[-1], None)
            if item is None:
                stack.pop()
                continue
            node, position = item
            yield node
            if isinstance(node.value, dict | list):
                stack.append(self._iter_children(node.value, position, node.path))

    def _iter_children(self, data: Any, position: Any, path: Path) -> Iterator[tuple[PositionedNode, Any]]:
        """Yield the entries of a mapping or list at a known position, with their positions."""
        text = self.text
        entries: Any = (
            data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
        )
        for step, value in entries:
            entry_position = find_entry(position, step, self._key_tables)
            assert entry_position is not None, "data has the places that it was read from"
            key_span = (
                None
                if entry_position.key_start is None
                else (entry_position.key_start + self._base, entry_position.key_end + self._base)
            )
            span = find_offsets(entry_position.start, entry_position.end, self._base, text)
            yield PositionedNode((*path, step), value, key_span, span), entry_position.start

    def merged_keys(self, path: Path) -> frozenset[str]:
        """Return the keys of the mapping at ``path`` that come from merge keys; empty if it is no mapping."""
        entry, is_exact = self._find_nearest(path)
        return find_merged_keys(entry.start, self._key_tables) if is_exact else frozenset()

    def span_between(self, start: int, end: int) -> Span:
        """Return the span between two offsets (0-based, in code points)."""
        return self._lines.build_span(start, end)

    def _find_nearest(self, path: Path) -> tuple[EntryPosition, bool]:
        """Return the entry at ``path``, or at its nearest existing ancestor, and whether it is the whole
        path."""
        nearest = EntryPosition(None, None, *self._position)
        for step in path:
            child = find_entry(nearest.start, step, self._key_tables)
            if child is None:
                return nearest, False
            nearest = child
        return nearest, True

    def _key_span(self, entry: EntryPosition) -> Span | None:
        if entry.key_start is None:
            return None
        return self._lines.build_span(entry.key_start + self._base, entry.key_end + self._base)
