"""Finds the place in a file where a part of a document is written, or why no single place can be changed."""

from __future__ import annotations

from podplan.core.findings import DocumentFix, Path, value_at
from podplan.core.provenance import TracedDocument, find_origin
from podplan.core.typing import Any
from podplan.yaml import Document
from podplan.yaml.edits.changes import FixRefused


def resolve_to_source(doc: TracedDocument, fix: DocumentFix) -> tuple[Document, DocumentFix]:
    """Return the same change in the file that the part came from.

    A part that was copied, or restates a value from elsewhere, is changed there; a computed or default value
    is not.

    Raises FixRefused: if no single place can be changed.
    """
    if fix.op == "set" and not _has_path(doc.data, fix.path):
        source, path = _find_mapping_source(doc, fix.path[:-1])
        return source, fix._replace(path=(*path, fix.path[-1]))
    try:
        source, path = _find_source(doc, fix.path)
    except (FixRefused, LookupError):
        if fix.op != "remove" or not isinstance(value_at(doc.data, fix.path), dict):
            raise
        source, path = _find_entry_source(doc, fix.path)
    if fix.op == "rename" and path[-1:] != fix.path[-1:]:
        raise FixRefused(f'the field is called "{path[-1]}" where it is written')
    resolved_value, source_value = value_at(doc.data, fix.path), value_at(source.data, path)
    return source, fix._replace(
        path=path, value=_convert_value(fix.value, type(resolved_value), type(source_value))
    )


def _convert_value(value: Any, resolved_type: type, source_type: type) -> Any:
    """Convert ``value`` to the type in the file, if that has text for a number or a number for text."""
    if (resolved_type, source_type) == (str, int) and isinstance(value, str) and value.isdecimal():
        return int(value)
    return str(value) if (resolved_type, source_type) == (int, str) else value


def _find_source(doc: TracedDocument, path: Path) -> tuple[Document, Path]:
    while doc.source is None:
        origin, rest = find_origin(doc, path)
        if origin.flag is not None:
            raise FixRefused(f"it comes from {origin.flag.name}")
        if not origin.sources:
            raise FixRefused("it is not written anywhere, but a default")
        source = origin.sources[0]
        if origin.derivation == "copied":
            doc, path = source.doc, (*source.path, *rest)
        elif not rest and _has_equal_value(source.doc.data, source.path, value_at(doc.data, path)):
            doc, path = source.doc, source.path
        else:
            raise FixRefused("it is worked out from what is written")
    if not doc.source.has_path(path):
        raise FixRefused("it is not written there")
    return doc.source, path


def _find_entry_source(doc: TracedDocument, path: Path) -> tuple[Document, Path]:
    """Return where an entry of a list is written: as an entry, or as a field with its name in a mapping
    (``env``)."""
    entry = value_at(doc.data, path)
    source, source_path = _find_source(doc, (*path, "value"))
    if source_path[-1:] == ("value",):
        return source, source_path[:-1]
    if source_path[-1:] == (entry.get("name"),):
        return source, source_path
    raise FixRefused("it is not written in one place")


def _find_mapping_source(doc: TracedDocument, path: Path) -> tuple[Document, Path]:
    """Return where a mapping is written: as a mapping, or where one of its fields was copied from."""
    try:
        return _find_source(doc, path)
    except (FixRefused, LookupError):
        fields = value_at(doc.data, path)
    for key in fields if isinstance(fields, dict) else ():
        try:
            source, source_path = _find_source(doc, (*path, key))
        except (FixRefused, LookupError):
            continue
        if source_path[-1:] == (key,):
            return source, source_path[:-1]
    raise FixRefused("what it belongs to is not written in one place")


def _has_equal_value(data: Any, path: Path, value: Any) -> bool:
    """Whether ``path`` has an equal value, ignoring the type: 4 and "4"."""
    source_value = value_at(data, path) if _has_path(data, path) else None
    return isinstance(source_value, str | int | float) and str(source_value) == str(value)


def _has_path(data: Any, path: Path) -> bool:
    for step in path:
        steps = range(len(data)) if isinstance(data, list) else data if isinstance(data, dict) else ()
        if step not in steps:
            return False
        data = data[step]
    return True
