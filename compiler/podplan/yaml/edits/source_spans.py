"""Where a part of a document was written, exactly; or why no single place can be changed for it."""

from __future__ import annotations

from podplan.core.findings import Change, Path, value_at
from podplan.core.provenance import Doc, origin_of
from podplan.core.typing import Any
from podplan.yaml import Document
from podplan.yaml.edits.changes import Refused


def at_source(doc: Doc, change: Change) -> tuple[Document, Change]:
    """The same change in the file that the part came from. Raises Refused.

    A part that was copied, or that says what was written elsewhere, is changed there; one that was worked
    out, or stands by a default, is not.
    """
    if change.op == "set" and not _has(doc.data, change.path):
        source, path = _mapping(doc, change.path[:-1])
        return source, change._replace(path=(*path, change.path[-1]))
    try:
        source, path = _exactly(doc, change.path)
    except (Refused, LookupError):
        if change.op != "remove" or not isinstance(value_at(doc.data, change.path), dict):
            raise
        source, path = _entry(doc, change.path)
    if change.op == "rename" and path[-1:] != change.path[-1:]:
        raise Refused(f'the field is called "{path[-1]}" where it is written')
    now, there = value_at(doc.data, change.path), value_at(source.data, path)
    return source, change._replace(path=path, value=_typed(change.value, type(now), type(there)))


def _typed(value: Any, now: type, there: type) -> Any:
    """``value`` as it is written where a text here is a number there, or the other way round."""
    if (now, there) == (str, int) and isinstance(value, str) and value.isdecimal():
        return int(value)
    return str(value) if (now, there) == (int, str) else value


def _exactly(doc: Doc, path: Path) -> tuple[Document, Path]:
    while doc.source is None:
        origin, rest = origin_of(doc, path)
        if origin.flag is not None:
            raise Refused(f"it comes from {origin.flag.name}")
        if not origin.places:
            raise Refused("it is not written anywhere, but a default")
        place = origin.places[0]
        if origin.how == "copied":
            doc, path = place.doc, (*place.path, *rest)
        elif not rest and _says(place.doc.data, place.path, value_at(doc.data, path)):
            doc, path = place.doc, place.path
        else:
            raise Refused("it is worked out from what is written")
    if not doc.source.has(path):
        raise Refused("it is not written there")
    return doc.source, path


def _entry(doc: Doc, path: Path) -> tuple[Document, Path]:
    """Where an entry of a list was written: as such, or as a field of that name in a mapping (``env``)."""
    entry = value_at(doc.data, path)
    source, below = _exactly(doc, (*path, "value"))
    if below[-1:] == ("value",):
        return source, below[:-1]
    if below[-1:] == (entry.get("name"),):
        return source, below
    raise Refused("it is not written in one place")


def _mapping(doc: Doc, path: Path) -> tuple[Document, Path]:
    """Where a mapping was written: as such, or as the place that one of its fields was copied from."""
    try:
        return _exactly(doc, path)
    except (Refused, LookupError):
        fields = value_at(doc.data, path)
    for key in fields if isinstance(fields, dict) else ():
        try:
            source, below = _exactly(doc, (*path, key))
        except (Refused, LookupError):
            continue
        if below[-1:] == (key,):
            return source, below[:-1]
    raise Refused("what it belongs to is not written in one place")


def _says(data: Any, path: Path, value: Any) -> bool:
    """Whether the same is said at ``path``, if only in another type: 4 and "4"."""
    there = value_at(data, path) if _has(data, path) else None
    return isinstance(there, str | int | float) and str(there) == str(value)


def _has(data: Any, path: Path) -> bool:
    for step in path:
        here = range(len(data)) if isinstance(data, list) else data if isinstance(data, dict) else ()
        if step not in here:
            return False
        data = data[step]
    return True
