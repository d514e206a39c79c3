"""Parses YAML text into plain data with the position of every part; the only YAML parser.

Values are what Kubernetes reads (``scalars``); the parser is libyaml, which go-yaml was ported from, so both
split a text into the same scalars. Invalid input raises nothing: errors become a ``Diagnostic``, and
valid documents are parsed. Only an exceeded limit raises.
"""

from __future__ import annotations

import gc
from bisect import bisect_left
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from itertools import pairwise

from yaml import YAMLError

from podplan.core.findings import Diagnostic, Path, Span
from podplan.core.lazy_regex import compile_lazily
from podplan.core.limits import MAX_FILE_BYTES, MAX_FILE_DIAGNOSTICS, LimitExceeded, limit_exceeded
from podplan.core.typing import NamedTuple
from podplan.redaction.hints import may_hold_secret
from podplan.redaction.secret_objects import is_secret_object, mentions_secret_object
from podplan.yaml.budget import ParseBudget
from podplan.yaml.builder import DocumentBuilder
from podplan.yaml.conflicts import find_conflict
from podplan.yaml.document import Document, LineIndex

__all__ = [
    "Document",
    "LineIndex",
    "Path",
    "SourceFile",
    "Span",
    "find_secret_spans",
    "parse_yaml",
    "redact_source",
]

# A line that begins a document; YAML allows it nowhere inside one, not even in a block scalar.
_DOCUMENT_MARKER = compile_lazily(r"(?:\A|(?<=[\n\r]))---(?=[ \t\r\n]|\Z)")


class SourceFile(NamedTuple):
    """A parsed file. ``hints`` are implicit types (YAML010), which a later stage may report.

    ``text`` is the whole text, including a byte order mark. Diagnostics and hints are sorted by position. If
    a file ``has_secret``, none of its lines may be shown, and no diagnostic or hint quotes a value.
    """

    file: str
    text: str
    documents: list[Document]
    diagnostics: list[Diagnostic]
    hints: list[Diagnostic]
    has_secret: bool = False


def parse_yaml(content: bytes, file: str) -> SourceFile:
    """Parse all documents of a file. Raises LimitExceeded: if it exceeds a limit; nothing else is raised.

    A document with a syntax error becomes a diagnostic, and parsing continues at the next line that is
    ``---``.
    """
    if len(content) > MAX_FILE_BYTES:
        message = f"larger than {MAX_FILE_BYTES:,} bytes; split the file"
        raise LimitExceeded(limit_exceeded("file-bytes", message)).with_file(file)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        return _build_undecodable(content, file, error)
    gc_was_enabled = gc.isenabled()
    gc.disable()
    try:
        return _parse_text(text, file)
    finally:
        if gc_was_enabled:
            gc.enable()


def _parse_text(text: str, file: str) -> SourceFile:
    lines = LineIndex(text)
    builder = DocumentBuilder(file, lines, lines.base, len(text), ParseBudget(file), [])
    try:
        builder.build()
    except YAMLError:
        return _hide_secrets(_in_conflict(file, lines) or _parse_segments(file, lines))
    diagnostics, hints = builder.diagnostics.diagnostics, builder.diagnostics.hints
    if not diagnostics and not hints:
        return _hide_secrets(SourceFile(file, text, builder.documents, [], []))
    return _hide_secrets(
        SourceFile(file, text, builder.documents, _sort_and_limit(diagnostics), _sort_and_limit(hints))
    )


def _hide_secrets(source: SourceFile) -> SourceFile:
    """Return ``source`` without secrets in its diagnostics and hints."""
    has_secret = _has_secret(source)
    if not (source.diagnostics or source.hints):
        return source._replace(has_secret=True) if has_secret else source
    spans = find_secret_spans(source)
    if not (has_secret or spans):
        return source
    from podplan.redaction.broken_text import replace_quoting_message

    def hide_quotes(diagnostic: Diagnostic) -> Diagnostic:
        quotes_key = diagnostic.rule == "YAML002"
        if (not has_secret or quotes_key) and not _overlaps(diagnostic.span, spans):
            return diagnostic
        return diagnostic._replace(message=replace_quoting_message(diagnostic.rule, diagnostic.message))

    diagnostics, hints = (
        [hide_quotes(fault) for fault in found] for found in (source.diagnostics, source.hints)
    )
    return source._replace(diagnostics=diagnostics, hints=hints, has_secret=has_secret)


def find_secret_spans(source: SourceFile) -> list[tuple[int, int]]:
    """Return where the text of a file contains secrets: offsets in order, the end exclusive."""
    if not may_hold_secret(source.text):
        return []
    from podplan.yaml.secret_spans import locate_secrets

    return locate_secrets(source.text, source.documents, bool(source.diagnostics))


def redact_source(source: SourceFile) -> str:
    """Return the text of a file with a star for each character of its secrets."""
    from podplan.redaction.redactor import redact_spans

    return redact_spans(source.text, find_secret_spans(source))


def _overlaps(span: Span, spans: list[tuple[int, int]]) -> bool:
    """Whether a span overlaps one of ``spans``, which are sorted."""
    start_offset, end_offset = span.start, max(span.end, span.start + 1)
    index = bisect_left(spans, (start_offset, 0))
    return any(
        start < end_offset and start_offset < end for start, end in spans[max(index - 1, 0) : index + 1]
    )


def _has_secret(source: SourceFile) -> bool:
    for document in source.documents:
        if is_secret_object(document.data):
            return True
    return bool(source.diagnostics) and mentions_secret_object(source.text)


def _in_conflict(file: str, lines: LineIndex) -> SourceFile | None:
    """Return a file with merge conflict markers: one diagnostic, and no documents, even if some are valid."""
    conflict = find_conflict(lines.text)
    if conflict is None:
        return None
    line, end_line = lines.line_and_column(conflict.first)[0], lines.line_and_column(conflict.last)[0]
    span = lines.build_span(conflict.first, conflict.first + len("<<<<<<<"))
    return SourceFile(
        file, lines.text, [], [Diagnostic("YAML013", conflict.message(line, end_line), span=span)], []
    )


def _parse_segments(file: str, lines: LineIndex) -> SourceFile:
    """Parse a file with a syntax error: each part between its --- lines separately."""
    budget = ParseBudget(file)
    documents: list[Document] = []
    diagnostics: list[Diagnostic] = []
    hints: list[Diagnostic] = []
    index = 0
    for start, end in _split_segments(lines.text, lines.base):
        builder = DocumentBuilder(file, lines, start, end, budget, documents, index)
        has_error = _build_until_error(builder)
        index = builder.diagnostics.document + has_error
        diagnostics += builder.diagnostics.diagnostics
        hints += builder.diagnostics.hints
    return SourceFile(file, lines.text, documents, _sort_and_limit(diagnostics), _sort_and_limit(hints))


def _split_segments(text: str, base: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a text between its --- lines, each of which can be parsed separately."""
    cuts = [base, *(match.start() for match in _DOCUMENT_MARKER.finditer(text, base)), len(text)]
    return ((start, end) for start, end in pairwise(cuts) if start < end)


def _build_until_error(builder: DocumentBuilder) -> bool:
    """Run ``builder``; return whether a syntax error ended it, which is then in its diagnostics."""
    documents, diagnostics = builder.documents, builder.diagnostics
    document_count = len(documents)
    try:
        builder.build()
    except YAMLError as error:
        if "<document start>" in str(error) and len(documents) > document_count:
            documents.pop()  # it continues after its assumed end
            diagnostics.document -= 1
        diagnostics.diagnostics[:] = [
            fault for fault in diagnostics.diagnostics if fault.document_index < diagnostics.document
        ]
        from podplan.yaml.syntax_errors import explain_syntax_error

        diagnostics.add(*explain_syntax_error(error, builder.text))
        return True
    return False


def _sort_and_limit(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    diagnostics.sort(key=lambda fault: fault.span.start)
    if len(diagnostics) <= MAX_FILE_DIAGNOSTICS:
        return diagnostics
    rest = len(diagnostics) - MAX_FILE_DIAGNOSTICS
    message = f"{rest:,} more of this kind or others follow in this file; correct the first ones"
    return [*diagnostics[:MAX_FILE_DIAGNOSTICS], diagnostics[MAX_FILE_DIAGNOSTICS]._replace(message=message)]


def _build_undecodable(content: bytes, file: str, error: UnicodeDecodeError) -> SourceFile:
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        text, at = content.decode("utf-16", errors="replace"), 0
        message = "this file is UTF-16; save it as UTF-8"
    else:
        text, at = content.decode(errors="replace"), len(content[: error.start].decode())
        message = f"byte 0x{content[error.start]:02X} is not UTF-8; save the file as UTF-8"
    return _hide_secrets(
        SourceFile(
            file,
            text,
            [],
            [Diagnostic("YAML009", message, span=LineIndex(text).build_span(at, at + 1))],
            [],
        )
    )
