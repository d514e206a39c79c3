"""The line for a problem: back along the origins to what somebody wrote."""

from __future__ import annotations

from podplan.findings import Location
from podplan.provenance import Doc, Path, Place, Step, origin_of, trace
from podplan.typing import NamedTuple


class Source(NamedTuple):
    """Where a path of some document comes from: the place in the file, and the documents on the way."""

    location: Location
    steps: tuple[Step, ...]


def locate(doc: Doc, path: Path, on_key: bool = False) -> Source:
    """The place in a file for ``path`` in ``doc``; climbs to where the nearest part was written.

    Every document but that of the flags traces to a file at its root. Raises LookupError for the latter.
    """
    found = find_source(doc, path, on_key)
    if found is None:
        raise LookupError(f"{doc.name} comes from no file")
    return found


def find_source(doc: Doc, path: Path, on_key: bool = False) -> Source | None:
    """The same, or None for what only a flag gave."""
    for cut in range(len(path), -1, -1):
        steps = trace(doc, path[:cut])
        end = steps[-1]
        if end.doc.source is not None:
            return Source(_location(end.doc, end.path, on_key and cut == len(path)), tuple(steps))
    return None


def _location(doc: Doc, path: Path, on_key: bool) -> Location:
    """The place of a value; of a block below its key, the key: there something is missing or too much."""
    source = doc.source
    assert source is not None
    span = source.span(path, on_key=on_key)
    if not on_key:
        key = source.heading(path)
        if key is not None and key.line < span.line:
            span = key
    return Location(source.file, span.line, span.column, span.end_line, span.end_column, path)


def other_places(doc: Doc, path: Path) -> list[Place]:
    """The further places that a computed value was worked out from, beside the one it is reported at."""
    places: list[Place] = []
    while doc.source is None:
        origin, rest = origin_of(doc, path)
        if origin.how == "computed" and not rest:
            places += origin.places[1:]
        if not origin.places:
            break
        place = origin.places[0]
        doc, path = place.doc, (*place.path, *rest) if origin.how == "copied" else place.path
    return places
