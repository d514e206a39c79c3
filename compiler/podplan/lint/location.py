"""The line for a problem: back along the origins to what somebody wrote."""

from __future__ import annotations

from podplan.core.findings import Location, TextPath, value_at
from podplan.core.provenance import Doc, Path, Place, Step, origin_of, trace
from podplan.core.text_diff import stretches
from podplan.core.typing import NamedTuple


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
            whole = cut == len(path)
            within = _within(doc, path, end) if whole and isinstance(path, TextPath) else None
            where = within or _location(end.doc, end.path, on_key and whole)
            return Source(where, tuple(steps))
    return None


def _within(doc: Doc, path: TextPath, end: Step) -> Location | None:
    """The place of a range of a text, None where it is all of it, or nobody wrote it as it is."""
    source, made, written = end.doc.source, value_at(doc.data, path), value_at(end.doc.data, end.path)
    if source is None or not isinstance(made, str) or not isinstance(written, str):
        return None
    wanted = range_before(made, written, path.text_range)
    if wanted is None or wanted == (0, len(written)):
        return None
    span = source.text_span(end.path, written, wanted)
    if span is None:
        return None
    return Location(source.file, span.line, span.column, span.end_line, span.end_column, end.path)


def range_before(made: str, written: str, wanted: tuple[int, int]) -> tuple[int, int] | None:
    """The range of the ``written`` text that became the range ``wanted`` of the text ``made`` of it.

    Where a line differs, as one with a parameter does, it is all of the line; None where that is unknown.
    """
    start, end = wanted
    if not 0 <= start <= end <= len(made) or not written:
        return None
    at = made.find(written)
    if at >= 0 and made.find(written, at + 1) < 0:
        return (start - at, end - at) if at <= start and end <= at + len(written) else None
    before, after = made.split("\n"), written.split("\n")
    number = made.count("\n", 0, start)
    shift = 0
    for stretch in stretches(before, after):
        if stretch.start > number:
            break
        if number < stretch.end:
            if stretch.end - stretch.start != stretch.new_end - stretch.new_start:
                return None
            shift = stretch.new_start - stretch.start
            break
        shift = stretch.new_end - stretch.end
    line = after[number + shift]
    first = sum(len(text) + 1 for text in after[: number + shift])
    if line != before[number]:
        return first, first + len(line)
    column = start - sum(len(text) + 1 for text in before[:number])
    return first + column, first + min(column + end - start, len(line))


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
