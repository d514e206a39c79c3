"""Document symbols: the documents of a file, and their fields to a limited depth."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path
from podplan.core.truncation import truncate
from podplan.core.typing import Any
from podplan.integrations.lsp.documents import OpenDocument
from podplan.integrations.lsp.positions import Encoding, split_lines, to_protocol_range
from podplan.redaction.detection import find_secrets
from podplan.redaction.redactor import REDACTED_NOTICE
from podplan.workspace.documents import classify_documents
from podplan.yaml import Document, parse_yaml

MAX_DEPTH = 4
MAX_SYMBOLS = 2_000
_CLASS_KIND, _FIELD_KIND, _OBJECT_KIND, _ARRAY_KIND = 5, 8, 19, 18  # SymbolKind


def build_symbols(document: OpenDocument, encoding: Encoding) -> list[dict[str, Any]]:
    """Build the symbols of a document. Raises LimitExceeded: if it is too big."""
    text_lines = split_lines(document.text)
    budget = [MAX_SYMBOLS]
    document_symbols = []
    for item in classify_documents(parse_yaml(document.text.encode(), document.path)):
        source = item.doc.source
        if source is not None and isinstance(source.data, dict) and item.category != "other":
            metadata = source.data.get("metadata")
            name = metadata.get("name") if isinstance(metadata, dict) else None
            secret_paths = frozenset(one.path for one in find_secrets(source.data))
            children = list(_iter_children(source, (), text_lines, encoding, budget, secret_paths))
            document_range = _build_range(source, (), text_lines, encoding)
            if children:
                document_range = {"start": children[0]["range"]["start"], "end": children[-1]["range"]["end"]}
            document_symbols.append(
                {
                    "name": str(name or source.data.get("kind") or "document"),
                    "detail": str(source.data.get("kind") or ""),
                    "kind": _CLASS_KIND,
                    "range": document_range,
                    "selectionRange": {"start": document_range["start"], "end": document_range["start"]},
                    "children": children,
                }
            )
    return document_symbols


def _iter_children(
    source: Document,
    path: Path,
    text_lines: list[str],
    encoding: Encoding,
    budget: list[int],
    secret_paths: frozenset[Path],
) -> Iterator[dict[str, Any]]:
    value: Any = source.data
    for step in path:
        value = value[step]
    if len(path) >= MAX_DEPTH:
        return
    for step in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        child_path = (*path, step)
        value_span, key_span = source.span(child_path), source.span(child_path, on_key=isinstance(step, str))
        if budget[0] <= 0 or not (key_span.line, key_span.column) <= (value_span.line, value_span.column):
            continue  # its position is elsewhere, because of an alias or a merge key
        budget[0] -= 1
        entry = value[step]
        symbol_range = (key_span.line, key_span.column, value_span.end_line, value_span.end_column)
        name = entry.get("name") if isinstance(entry, dict) and isinstance(step, int) else None
        yield {
            "name": str(name or step) or '""',
            "kind": _OBJECT_KIND
            if isinstance(entry, dict)
            else _ARRAY_KIND
            if isinstance(entry, list)
            else _FIELD_KIND,
            **(
                {}
                if isinstance(entry, dict | list)
                else {"detail": REDACTED_NOTICE if child_path in secret_paths else _truncate_value(entry)}
            ),
            "range": to_protocol_range(text_lines, symbol_range, encoding),
            "selectionRange": to_protocol_range(
                text_lines, (key_span.line, key_span.column, key_span.end_line, key_span.end_column), encoding
            ),
            **(
                {
                    "children": list(
                        _iter_children(source, child_path, text_lines, encoding, budget, secret_paths)
                    )
                }
                if isinstance(entry, dict | list)
                else {}
            ),
        }


def _build_range(source: Document, path: Path, text_lines: list[str], encoding: Encoding) -> dict[str, Any]:
    source_span = source.span(path)
    return to_protocol_range(
        text_lines,
        (source_span.line, source_span.column, source_span.end_line, source_span.end_column),
        encoding,
    )


def _truncate_value(value: Any) -> str:
    return "" if value is None else truncate(str(value).partition("\n")[0], 41)
