"""YAML text -> plain data with the place of every part. The only reader of YAML.

Values are what Kubernetes reads (``scalars``); the parser is libyaml's, the same that go-yaml was
ported from, so both split a text into the same scalars. Nothing is raised for bad input: what is wrong
becomes a ``Fault``, and the documents that can be read are read. Only a bound that is reached raises.
"""

from __future__ import annotations

import gc
from bisect import bisect_left
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from itertools import pairwise

from podplan.core.lazy_regex import compiled_late, pattern
from podplan.core.limits import MAX_FAULTS, MAX_FILE_BYTES, BoundExceeded, beyond
from podplan.redaction.hints import may_hold_secret
from podplan.redaction.secret_objects import is_secret_object, mentions_secret_object

with compiled_late():  # what PyYAML compiles is for its own parser, and libyaml is used here
    from yaml import YAMLError

from podplan.core.typing import NamedTuple
from podplan.yaml.budget import Tally
from podplan.yaml.builder import Builder
from podplan.yaml.conflicts import find_conflict
from podplan.yaml.diagnostics import Trouble
from podplan.yaml.document import Document, Lines, Path, Span
from podplan.yaml.positions import scalar_end
from podplan.yaml.syntax_errors import explain

__all__ = [
    "Document",
    "Fault",
    "Lines",
    "Path",
    "Source",
    "Span",
    "find_secret_spans",
    "read",
    "redact_source",
]

# A line that begins a document; YAML allows it nowhere inside of one, not even in a block scalar.
_MARKER = pattern(r"(?:\A|(?<=[\n\r]))---(?=[ \t\r\n]|\Z)")


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


def read(content: bytes, file: str) -> Source:
    """Read all documents of a file. Raises BoundExceeded and nothing else.

    A document that is not YAML becomes a fault, and reading goes on at the next line that is ``---``.
    """
    if len(content) > MAX_FILE_BYTES:
        message = f"larger than {MAX_FILE_BYTES:,} bytes; split the file"
        raise BoundExceeded(beyond("file-bytes", message)).in_file(file)
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
    builder = Builder(file, lines, lines.base, len(text), Tally(file), [])
    try:
        builder.run()
    except YAMLError:
        return _discreet(_in_conflict(file, lines) or _in_segments(file, lines))
    faults, hints = builder.troubles.faults, builder.troubles.hints
    if not faults and not hints:
        return _discreet(Source(file, text, builder.documents, [], []))
    told = [_in_order(_faults(found, lines.base, lines)) for found in (faults, hints)]
    return _discreet(Source(file, text, builder.documents, told[0], told[1]))


def _discreet(source: Source) -> Source:
    """``source`` without secrets in its faults and hints."""
    holds_secret = _holds_secret(source)
    if not (source.faults or source.hints):
        return source._replace(holds_secret=True) if holds_secret else source
    spans = find_secret_spans(source)
    if not (holds_secret or spans):
        return source
    from podplan.redaction.broken_text import replace_quoting_message

    def discreet(fault: Fault) -> Fault:
        quotes_key = fault.rule == "YAML002"
        if (not holds_secret or quotes_key) and not _overlaps(fault.span, spans):
            return fault
        return fault._replace(message=replace_quoting_message(fault.rule, fault.message))

    faults, hints = ([discreet(fault) for fault in found] for found in (source.faults, source.hints))
    return source._replace(faults=faults, hints=hints, holds_secret=holds_secret)


def find_secret_spans(source: Source) -> list[tuple[int, int]]:
    """Where the text of a file holds secrets: offsets in order, the end exclusive."""
    if not may_hold_secret(source.text):
        return []
    from podplan.yaml.secret_spans import secret_spans

    return secret_spans(source.text, source.documents, bool(source.faults))


def redact_source(source: Source) -> str:
    """The text of a file with a star for each character of its secrets."""
    from podplan.redaction.redactor import redact_spans

    return redact_spans(source.text, find_secret_spans(source))


def _overlaps(place: Span, spans: list[tuple[int, int]]) -> bool:
    """Whether a place has a part in one of ``spans``, which are in order."""
    first, last = place.start, max(place.end, place.start + 1)
    at = bisect_left(spans, (first, 0))
    return any(start < last and first < end for start, end in spans[max(at - 1, 0) : at + 1])


def _holds_secret(source: Source) -> bool:
    for document in source.documents:
        if is_secret_object(document.data):
            return True
    return bool(source.faults) and mentions_secret_object(source.text)


def _in_conflict(file: str, lines: Lines) -> Source | None:
    """A file with merge conflict markers: one fault, and no documents, whichever of them could be read."""
    conflict = find_conflict(lines.text)
    if conflict is None:
        return None
    line, end_line = lines.at(conflict.first)[0], lines.at(conflict.last)[0]
    span = lines.span(conflict.first, conflict.first + len("<<<<<<<"))
    return Source(file, lines.text, [], [Fault("YAML013", conflict.message(line, end_line), span, 0)], [])


def _in_segments(file: str, lines: Lines) -> Source:
    """A file with an error of syntax: each part that its --- lines cut is read by itself."""
    tally = Tally(file)
    documents: list[Document] = []
    faults: list[Fault] = []
    hints: list[Fault] = []
    index = 0
    for start, end in _segments(lines.text, lines.base):
        builder = Builder(file, lines, start, end, tally, documents, index)
        broken = _as_far_as_it_goes(builder)
        index = builder.troubles.document + broken
        faults += _faults(builder.troubles.faults, start, lines)
        hints += _faults(builder.troubles.hints, start, lines)
    return Source(file, lines.text, documents, _in_order(faults), _in_order(hints))


def _segments(text: str, base: int) -> Iterator[tuple[int, int]]:
    """The stretches of a text that its --- lines cut, each of which can be read by itself."""
    cuts = [base, *(match.start() for match in _MARKER.finditer(text, base)), len(text)]
    return ((start, end) for start, end in pairwise(cuts) if start < end)


def _as_far_as_it_goes(builder: Builder) -> bool:
    """Run ``builder``; whether an error of syntax ended that, which is among its troubles then."""
    documents, troubles = builder.documents, builder.troubles
    before = len(documents)
    try:
        builder.run()
    except YAMLError as error:
        if "<document start>" in str(error) and len(documents) > before:
            documents.pop()  # it goes on below what was taken for its end
            troubles.document -= 1
        troubles.faults[:] = [fault for fault in troubles.faults if fault.document < troubles.document]
        troubles.add(*explain(error, builder.text))
        return True
    return False


def _faults(troubles: list[Trouble], base: int, lines: Lines) -> list[Fault]:
    return [_fault(trouble, base, lines) for trouble in troubles]


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
