"""Document symbols: the documents of a file, and their fields to a small depth."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path
from podplan.core.truncation import shortened
from podplan.core.typing import Any
from podplan.integrations.lsp.documents import Open
from podplan.integrations.lsp.positions import Encoding, lines, span
from podplan.redaction.detection import find_secrets
from podplan.redaction.redactor import NOT_SHOWN
from podplan.workspace.documents import items
from podplan.yaml import Document, read

DEPTH = 4
MOST = 2_000
_CLASS, _FIELD, _OBJECT, _ARRAY = 5, 8, 19, 18  # SymbolKind


def symbols(document: Open, encoding: Encoding) -> list[dict[str, Any]]:
    """The outline of a document. Raises BoundExceeded."""
    written = lines(document.text)
    left = [MOST]
    found = []
    for item in items(read(document.text.encode(), document.path)):
        source = item.doc.source
        if source is not None and isinstance(source.data, dict) and item.what != "other":
            metadata = source.data.get("metadata")
            name = metadata.get("name") if isinstance(metadata, dict) else None
            secret = frozenset(one.path for one in find_secrets(source.data))
            below = list(_below(source, (), written, encoding, left, secret))
            whole = _range(source, (), written, encoding)
            if below:
                whole = {"start": below[0]["range"]["start"], "end": below[-1]["range"]["end"]}
            found.append(
                {
                    "name": str(name or source.data.get("kind") or "document"),
                    "detail": str(source.data.get("kind") or ""),
                    "kind": _CLASS,
                    "range": whole,
                    "selectionRange": {"start": whole["start"], "end": whole["start"]},
                    "children": below,
                }
            )
    return found


def _below(
    source: Document,
    path: Path,
    written: list[str],
    encoding: Encoding,
    left: list[int],
    secret: frozenset[Path],
) -> Iterator[dict[str, Any]]:
    value: Any = source.data
    for step in path:
        value = value[step]
    if len(path) >= DEPTH:
        return
    for step in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        below = (*path, step)
        here, key = source.span(below), source.span(below, on_key=isinstance(step, str))
        if left[0] <= 0 or not (key.line, key.column) <= (here.line, here.column):
            continue  # through an alias or a merge key: it stands elsewhere
        left[0] -= 1
        entry = value[step]
        place = (key.line, key.column, here.end_line, here.end_column)
        name = entry.get("name") if isinstance(entry, dict) and isinstance(step, int) else None
        yield {
            "name": str(name or step) or '""',
            "kind": _OBJECT if isinstance(entry, dict) else _ARRAY if isinstance(entry, list) else _FIELD,
            **(
                {}
                if isinstance(entry, dict | list)
                else {"detail": NOT_SHOWN if below in secret else _short(entry)}
            ),
            "range": span(written, place, encoding),
            "selectionRange": span(written, (key.line, key.column, key.end_line, key.end_column), encoding),
            **(
                {"children": list(_below(source, below, written, encoding, left, secret))}
                if isinstance(entry, dict | list)
                else {}
            ),
        }


def _range(source: Document, path: Path, written: list[str], encoding: Encoding) -> dict[str, Any]:
    place = source.span(path)
    return span(written, (place.line, place.column, place.end_line, place.end_column), encoding)


def _short(value: Any) -> str:
    return "" if value is None else shortened(str(value).partition("\n")[0], 41)
