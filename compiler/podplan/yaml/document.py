"""One document of a file, and the lines and columns of its parts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from podplan.core.typing import Any, NamedTuple
from podplan.yaml.positions import LINE_BREAK, Entry, Table, entry, merged_keys, offsets

Path = tuple[str | int, ...]

_BYTE_ORDER_MARK = "\ufeff"


class Span(NamedTuple):
    """A stretch of a text: lines and columns 1-based, columns in code points, the end exclusive.

    ``start`` and ``end`` are 0-based code-point offsets in the text of the file.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    start: int
    end: int


class Written(NamedTuple):
    """A part of a document: where it starts and ends, and its key, which an entry of a list has none of.

    The offsets are 0-based, in code points of the text of the file.
    """

    path: Path
    value: Any
    key: tuple[int, int] | None
    extent: tuple[int, int]


def marked(text: str) -> int:
    """How many byte order marks a text begins with; libyaml counts none of them."""
    return len(text) - len(text.lstrip(_BYTE_ORDER_MARK))


class Lines:
    """A text, and the line and column of its offsets; byte order marks, up to ``base``, take no column."""

    __slots__ = ("_starts", "base", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.base = marked(text)
        self._starts: list[int] = []

    def at(self, offset: int) -> tuple[int, int]:
        """The 1-based line and column of a 0-based offset."""
        if not self._starts:
            self._starts = [self.base, *_line_starts(self.text)]
        line = max(bisect_right(self._starts, offset), 1)
        return line, max(offset - self._starts[line - 1], 0) + 1

    def span(self, start: int, end: int) -> Span:
        return Span(*self.at(start), *self.at(end), start, end)


def _line_starts(text: str) -> Iterator[int]:
    """The offsets where the second line and those after it begin."""
    if "\r" in text:
        return (match.end() for match in LINE_BREAK.finditer(text))
    return accumulate([len(line) + 1 for line in text.split("\n")[:-1]])


class Document:
    """One document of a file: plain data, and where each part of it stands.

    ``index`` counts from 0; documents without any content are not counted, unreadable ones are.
    Aliases share what they stand for, so the data is to be read and never changed in place.

    ``place`` is where its value starts and ends (see ``places``), relative to ``base``; with the offset
    ``start`` begins what belongs to it. ``tables`` holds the keys of its mappings that have merge keys.
    """

    __slots__ = ("_base", "_lines", "_place", "_start", "_tables", "data", "file", "index")

    def __init__(
        self,
        file: str,
        index: int,
        data: Any,
        place: tuple[Any, Any],
        tables: dict[int, Table],
        lines: Lines,
        base: int,
        start: int,
    ) -> None:
        self.file = file
        self.index = index
        self.data = data
        self._place = place
        self._tables = tables
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
        """The comment lines between the start of the document and its content, without line breaks."""
        end = offsets(*self._place, self._base, self.text)[0]
        lines = (line.strip() for line in LINE_BREAK.split(self.text[self._start : end]))
        return [line for line in lines if line.startswith("#")]

    def has(self, path: Path) -> bool:
        """Whether something, if only a null, is written at ``path``."""
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
        """Where the value at ``path`` stands, or with ``on_key`` its key.

        What is not written gives the place of the nearest ancestor that is. An alias is its own place;
        what is below it stands where its anchor is. A block ends with its last value, without the
        blank lines and comments that may follow.
        """
        here, whole = self._nearest(path)
        return (on_key and whole and self._key(here)) or self._lines.span(
            *offsets(here.start, here.end, self._base, self.text)
        )

    def text_span(self, path: Path, value: str, wanted: tuple[int, int]) -> Span | None:
        """Where the range ``wanted`` of the string ``value`` at ``path`` stands; None if unknown."""
        here, whole = self._nearest(path)
        if not whole:
            return None
        from podplan.yaml.scalar_ranges import range_in_text

        place = offsets(here.start, here.end, self._base, self.text)
        found = range_in_text(self.text, place, value, wanted)
        return self._lines.span(*found) if found is not None else None

    def heading(self, path: Path) -> Span | None:
        """The key of the value at ``path``, or of its nearest written ancestor; None if it has none."""
        return self._key(self._nearest(path)[0])

    def written(self) -> Iterator[Written]:
        """All below the top, in the order of the data; what holds something comes before what it holds.

        Each is found from what holds it, and not from the top: a document costs what its parts do.
        """
        left = [self._entries(self.data, self._place[0], ())]
        while left:
            found = next(left[-1], None)
            if found is None:
                left.pop()
                continue
            written, place = found
            yield written
            if isinstance(written.value, dict | list):
                left.append(self._entries(written.value, place, written.path))

    def _entries(self, data: Any, place: Any, path: Path) -> Iterator[tuple[Written, Any]]:
        """The entries of a map or list whose place is known, each with its own place."""
        text = self.text
        entries: Any = (
            data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
        )
        for step, value in entries:
            here = entry(place, step, self._tables)
            assert here is not None, "data has the places that it was read from"
            key = None if here.key_start is None else (here.key_start + self._base, here.key_end + self._base)
            extent = offsets(here.start, here.end, self._base, text)
            yield Written((*path, step), value, key, extent), here.start

    def merged_keys(self, path: Path) -> frozenset[str]:
        """The keys of the mapping at ``path`` that come through merge keys; none if no mapping is there."""
        here, whole = self._nearest(path)
        return merged_keys(here.start, self._tables) if whole else frozenset()

    def between(self, start: int, end: int) -> Span:
        """The stretch of the text between two offsets (0-based, in code points)."""
        return self._lines.span(start, end)

    def _nearest(self, path: Path) -> tuple[Entry, bool]:
        """What is written at ``path``, or the nearest ancestor that is, and whether it is the whole path."""
        here = Entry(None, None, *self._place)
        for step in path:
            below = entry(here.start, step, self._tables)
            if below is None:
                return here, False
            here = below
        return here, True

    def _key(self, here: Entry) -> Span | None:
        if here.key_start is None:
            return None
        return self._lines.span(here.key_start + self._base, here.key_end + self._base)
