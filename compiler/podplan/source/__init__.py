"""YAML text -> plain data with the place of every part. The only reader of YAML.

Values are what Kubernetes reads (``scalars``); the parser is libyaml's, the same that go-yaml was
ported from, so both split a text into the same scalars. Nothing is raised for bad input: what is wrong
becomes a ``Fault``, and the documents that can be read are read. Only a bound that is reached raises.
"""

from __future__ import annotations

import gc
from bisect import bisect_right
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from itertools import accumulate, pairwise

from podplan.limits import MAX_FAULTS, MAX_FILE_BYTES, BoundExceeded, beyond
from podplan.patterns import compiled_late, pattern

with compiled_late():  # what PyYAML compiles is for its own parser, and libyaml is used here
    from yaml import YAMLError

from podplan.source.builder import Builder, Built
from podplan.source.places import LINE_BREAK, Entry, entry, offsets, scalar_end
from podplan.source.secrecy import is_secret, looks_secret, unquoted
from podplan.source.syntax import explain
from podplan.source.tally import Tally
from podplan.source.troubles import Trouble
from podplan.typing import NamedTuple

Path = tuple[str | int, ...]

# A line that begins a document; YAML allows it nowhere inside of one, not even in a block scalar.
_MARKER = pattern(r"(?:\A|(?<=[\n\r]))---(?=[ \t\r\n]|\Z)")
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


class Fault(NamedTuple):
    """Something wrong with the text of a file; ``document`` is the index of the document that has it."""

    rule: str
    message: str
    span: Span
    document: int
    help: str = ""


class Source(NamedTuple):
    """A file as read. ``hints`` are implicit types (YAML010), which a later stage may report or not.

    ``text`` is the whole text, a byte order mark included. Faults and hints are in order of place.
    Of a file that ``holds_secret``, no line may be shown, and no fault or hint quotes a value.
    """

    file: str
    text: str
    documents: list[Document]
    faults: list[Fault]
    hints: list[Fault]
    holds_secret: bool = False


class Lines:
    """A text, and the line and column of its offsets; a byte order mark, up to ``base``, takes no column."""

    __slots__ = ("_starts", "base", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.base = len(text) - len(text.removeprefix(_BYTE_ORDER_MARK))
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
    """

    __slots__ = ("_base", "_lines", "_place", "_place_end", "_start", "_tables", "data", "file", "index")

    def __init__(self, file: str, built: Built, base: int, start: int, lines: Lines) -> None:
        self.index, self.data, self._place, self._place_end, self._tables = built
        self.file = file
        self._base = base
        self._start = start
        self._lines = lines

    def __repr__(self) -> str:
        return f"Document({self.file!r}, {self.index})"

    @property
    def text(self) -> str:
        """The text of the whole file."""
        return self._lines.text

    @property
    def header(self) -> list[str]:
        """The comment lines between the start of the document and its content, without line breaks."""
        end = offsets(self._place, self._place_end, self._base, self.text)[0]
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

    def heading(self, path: Path) -> Span | None:
        """The key of the value at ``path``, or of its nearest written ancestor; None if it has none."""
        return self._key(self._nearest(path)[0])

    def between(self, start: int, end: int) -> Span:
        """The stretch of the text between two offsets (0-based, in code points)."""
        return self._lines.span(start, end)

    def _nearest(self, path: Path) -> tuple[Entry, bool]:
        """What is written at ``path``, or the nearest ancestor that is, and whether it is the whole path."""
        here = Entry(None, None, self._place, self._place_end)
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


def read(content: bytes, file: str) -> Source:
    """Read all documents of a file. Raises BoundExceeded and nothing else.

    A document that is not YAML becomes a fault, and reading goes on at the next line that is ``---``.
    """
    if len(content) > MAX_FILE_BYTES:
        message = f"{file}: larger than {MAX_FILE_BYTES:,} bytes; split the file"
        raise BoundExceeded(beyond("file-bytes", message))
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        return _not_utf8(content, file, error)
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _read(text, file)
    finally:
        if collecting:
            gc.enable()


def _read(text: str, file: str) -> Source:
    lines = Lines(text)
    base = lines.base
    source = Source(file, text, [], [], [])
    builder = Builder(text[base:], Tally(file))
    try:
        builder.run()
        _take(builder, base, source, lines)
    except YAMLError:
        tally = Tally(file)
        index = 0
        for start, end in _segments(text, base):
            index = _read_segment(start, end, index, tally, source, lines)
    if source.faults or source.hints:
        source = source._replace(faults=_in_order(source.faults), hints=_in_order(source.hints))
    return _discreet(source)


def _discreet(source: Source) -> Source:
    """``source`` without values in its faults and hints, if it holds a Secret."""
    if not _holds_secret(source):
        return source
    faults, hints = (
        [fault._replace(message=unquoted(fault.rule, fault.message)) for fault in found]
        for found in (source.faults, source.hints)
    )
    return source._replace(faults=faults, hints=hints, holds_secret=True)


def _holds_secret(source: Source) -> bool:
    for document in source.documents:
        if is_secret(document.data):
            return True
    return bool(source.faults) and looks_secret(source.text)


def _segments(text: str, base: int) -> Iterator[tuple[int, int]]:
    """The stretches of a text that its --- lines cut, each of which can be read by itself."""
    cuts = [base, *(match.start() for match in _MARKER.finditer(text, base)), len(text)]
    return ((start, end) for start, end in pairwise(cuts) if start < end)


def _read_segment(start: int, end: int, index: int, tally: Tally, source: Source, lines: Lines) -> int:
    """Add the documents and faults of one segment; the index of the next document comes back."""
    text = source.text[start:end]
    builder = Builder(text, tally, index)
    troubles = builder.troubles
    try:
        builder.run()
        broken = 0
    except YAMLError as error:
        if "<document start>" in str(error) and builder.documents:
            builder.documents.pop()  # it goes on below what was taken for its end
            troubles.document -= 1
        troubles.faults[:] = [fault for fault in troubles.faults if fault.document < troubles.document]
        troubles.add(*explain(error, text))
        broken = 1
    _take(builder, start, source, lines)
    return troubles.document + broken


def _take(builder: Builder, base: int, source: Source, lines: Lines) -> None:
    for start, built in builder.documents:
        begins = start + base if source.documents else lines.base
        source.documents.append(Document(source.file, built, base, begins, lines))
    for trouble in builder.troubles.faults:
        source.faults.append(_fault(trouble, base, lines))
    for trouble in builder.troubles.hints:
        source.hints.append(_fault(trouble, base, lines))


def _fault(trouble: Trouble, base: int, lines: Lines) -> Fault:
    message = trouble.message
    if trouble.first >= 0:
        message = message.replace("{line}", str(lines.at(trouble.first + base)[0]))
    start = trouble.start + base
    end = scalar_end(lines.text, start, trouble.end + base)
    return Fault(trouble.rule, message, lines.span(start, end), trouble.document)


def _in_order(faults: list[Fault]) -> list[Fault]:
    faults.sort(key=lambda fault: fault.span.start)
    if len(faults) <= MAX_FAULTS:
        return faults
    rest = len(faults) - MAX_FAULTS
    message = f"{rest:,} more of this kind or others follow in this file; correct the first ones"
    return [*faults[:MAX_FAULTS], faults[MAX_FAULTS]._replace(message=message)]


def _not_utf8(content: bytes, file: str, error: UnicodeDecodeError) -> Source:
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        text, at = content.decode("utf-16", errors="replace"), 0
        message = "this file is UTF-16; save it as UTF-8"
    else:
        text, at = content.decode(errors="replace"), len(content[: error.start].decode())
        message = f"byte 0x{content[error.start]:02X} is not UTF-8; save the file as UTF-8"
    return _discreet(Source(file, text, [], [Fault("YAML009", message, Lines(text).span(at, at + 1), 0)], []))
