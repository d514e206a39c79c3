"""The place of a document that a request is about: what stands there, as parsed or else by its outline."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.core.findings import Path, value_at
from podplan.core.limits import BoundExceeded
from podplan.core.typing import Any, NamedTuple
from podplan.integrations.lsp import params as given
from podplan.integrations.lsp.documents import Documents, Open, too_long
from podplan.integrations.lsp.outline import Outline, outline
from podplan.integrations.lsp.positions import Encoding, lines, ours
from podplan.workspace.documents import Item, items
from podplan.yaml import Document, read


class Spot(NamedTuple):
    """A place in an open document: 0-based line and column in code points, and the lines of the text.

    ``item`` is the document there if it parses, and ``parsed`` its source.
    """

    document: Open
    lines: list[str]
    line: int
    column: int
    outline: Outline
    item: Item | None
    parsed: Document | None

    @property
    def before(self) -> str:
        """The line up to the place."""
        return self.lines[self.line][: self.column]

    @property
    def path(self) -> Path | None:
        """The path of the key or scalar there, None for the space between them."""
        if self.parsed is not None:
            return path_at(self.parsed, self.line + 1, self.column + 1)
        cursor = self.outline.cursor
        return cursor.whole if cursor is not None else None

    @property
    def kind(self) -> str:
        """The kind of the document, "" where nothing says it."""
        return self.value(("kind",))

    @property
    def api_version(self) -> str:
        return self.value(("apiVersion",))

    def value(self, path: Path) -> str:
        """The text that is written at a path, "" where there is none."""
        values = self.outline.values
        found = value_at(self.item.doc.data, path) if self.item is not None else values.get(path)
        return found if isinstance(found, str) else ""

    def keys(self, path: Path) -> list[str]:
        """The keys of the mapping at a path."""
        data = value_at(self.item.doc.data, path) if self.item is not None else None
        return list(data) if isinstance(data, dict) else self.outline.keys.get(path, [])


def spot(params: Any, documents: Documents, encoding: Encoding) -> Spot | None:
    """The place that params name; None where the document is not open, or too long. Raises
    ResponseError."""
    document = documents.get(given.text(given.mapping(params, "textDocument"), "uri"))
    line, character = given.position(params, "position")
    if document is None or too_long(document):
        return None
    written = lines(document.text)
    line, column = ours(written, line, character, encoding)
    item, parsed = _parsed(document, line + 1)
    return Spot(document, written, line, column, outline(written, line, column), item, parsed)


def _parsed(document: Open, line: int) -> tuple[Item | None, Document | None]:
    """The document that a line (1-based) is in, if it parses."""
    try:
        source = read(document.text.encode(), document.path)
    except BoundExceeded:
        return None, None
    if any(fault.rule == "YAML001" for fault in source.faults):
        return None, None
    found: tuple[Item | None, Document | None] = None, None
    for item in items(source):
        parsed = item.doc.source
        if parsed is not None and (found[0] is None or parsed.span(()).line <= line):
            found = item, parsed
    return found


def path_at(document: Document, line: int, column: int) -> Path | None:
    """The path of the key or scalar at a place (1-based line and column), None for what is between them."""
    here = line, column
    path: Path = ()
    value = document.data
    while isinstance(value, dict | list) and value:
        step = _step(document, path, value, here)
        if step is None:
            return None
        path = (*path, step)
        if isinstance(step, str) and _is_in(document.span(path, on_key=True), here):
            return path
        value = value_at(value, (step,))
    return path or None


def _step(document: Document, path: Path, value: Any, here: tuple[int, int]) -> str | int | None:
    steps: Iterable[str | int] = value if isinstance(value, dict) else range(len(value))
    for step in steps:
        below = (*path, step)
        span = document.span(below)
        keyed = isinstance(step, str) and _is_in(document.span(below, on_key=True), here)
        if keyed or _is_in(span, here):
            return step
    return None


def _is_in(span: Any, here: tuple[int, int]) -> bool:
    return bool((span.line, span.column) <= here <= (span.end_line, span.end_column))
