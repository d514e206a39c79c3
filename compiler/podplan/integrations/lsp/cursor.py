"""The position of a request in a document, with the parsed document or else its outline."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.core.findings import Path, value_at
from podplan.core.limits import LimitExceeded
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any, NamedTuple
from podplan.integrations.lsp import params as given
from podplan.integrations.lsp.documents import OpenDocument, OpenDocuments, is_too_long
from podplan.integrations.lsp.outline import Outline, parse_outline
from podplan.integrations.lsp.positions import Encoding, from_protocol_position, split_lines
from podplan.workspace.documents import ClassifiedDocument, classify_documents
from podplan.yaml import Document, parse_yaml


class CursorContext(NamedTuple):
    """A position in an open document: 0-based line and column in code points, and the lines of the text.

    ``item`` is the document there if it parses, and ``parsed`` its source.
    """

    document: OpenDocument
    lines: list[str]
    line: int
    column: int
    outline: Outline
    item: ClassifiedDocument | None
    parsed: Document | None

    @property
    def text_before(self) -> str:
        """The line up to the position."""
        return self.lines[self.line][: self.column]

    @property
    def path(self) -> Path | None:
        """The path of the key or scalar there, None between them."""
        if self.parsed is not None:
            return find_path_at(self.parsed, self.line + 1, self.column + 1)
        cursor = self.outline.cursor
        return cursor.field_path if cursor is not None else None

    def is_at(self, doc: TracedDocument) -> bool:
        """Whether the position is in a document of a file."""
        source, parsed = doc.source, self.parsed
        return (
            source is not None
            and parsed is not None
            and (source.file, source.index) == (parsed.file, parsed.index)
        )

    @property
    def kind(self) -> str:
        """The kind of the document, "" if it has none."""
        return self.get_text(("kind",))

    @property
    def api_version(self) -> str:
        return self.get_text(("apiVersion",))

    def get_text(self, path: Path) -> str:
        """Return the text of the scalar at a path, or ""."""
        values = self.outline.values
        value = value_at(self.item.doc.data, path) if self.item is not None else values.get(path)
        return value if isinstance(value, str) else ""

    def list_keys(self, path: Path) -> list[str]:
        """Return the keys of the mapping at a path."""
        data = value_at(self.item.doc.data, path) if self.item is not None else None
        return list(data) if isinstance(data, dict) else self.outline.keys.get(path, [])


def locate_cursor(params: Any, documents: OpenDocuments, encoding: Encoding) -> CursorContext | None:
    """Return the position in ``params``; None if the document is not open, or too long.

    Raises ResponseError: if ``params`` are invalid.
    """
    document = documents.get(given.require_text(given.require_mapping(params, "textDocument"), "uri"))
    line, character = given.require_position(params, "position")
    if document is None or is_too_long(document):
        return None
    text_lines = split_lines(document.text)
    line, column = from_protocol_position(text_lines, line, character, encoding)
    item, parsed = _find_document(document, line + 1)
    return CursorContext(
        document, text_lines, line, column, parse_outline(text_lines, line, column), item, parsed
    )


def _find_document(document: OpenDocument, line: int) -> tuple[ClassifiedDocument | None, Document | None]:
    """Return the document that contains a line (1-based), if it parses."""
    try:
        source = parse_yaml(document.text.encode(), document.path)
    except LimitExceeded:
        return None, None
    if any(fault.rule == "YAML001" for fault in source.diagnostics):
        return None, None
    located: tuple[ClassifiedDocument | None, Document | None] = None, None
    for item in classify_documents(source):
        parsed = item.doc.source
        if parsed is not None and (located[0] is None or parsed.span(()).line <= line):
            located = item, parsed
    return located


def find_path_at(document: Document, line: int, column: int) -> Path | None:
    """Return the path of the key or scalar at a position (1-based line and column), None between them."""
    position = line, column
    path: Path = ()
    value = document.data
    while isinstance(value, dict | list) and value:
        step = _find_step(document, path, value, position)
        if step is None:
            return None
        path = (*path, step)
        if isinstance(step, str) and _contains_position(document.span(path, on_key=True), position):
            return path
        value = value_at(value, (step,))
    return path or None


def _find_step(document: Document, path: Path, value: Any, position: tuple[int, int]) -> str | int | None:
    steps: Iterable[str | int] = value if isinstance(value, dict) else range(len(value))
    for step in steps:
        child_path = (*path, step)
        span = document.span(child_path)
        is_on_key = isinstance(step, str) and _contains_position(
            document.span(child_path, on_key=True), position
        )
        if is_on_key or _contains_position(span, position):
            return step
    return None


def _contains_position(span: Any, position: tuple[int, int]) -> bool:
    return bool((span.line, span.column) <= position <= (span.end_line, span.end_column))
