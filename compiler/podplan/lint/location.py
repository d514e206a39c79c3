"""The line for a problem: back along the origins to what somebody wrote."""

from __future__ import annotations

from podplan.core.findings import Location, TextPath, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import (
    DocumentPath,
    Path,
    TracedDocument,
    TraceStep,
    find_origin,
    trace_to_source,
)
from podplan.core.typing import NamedTuple

_WORD = compile_lazily(r"\S+")


class SourceLocation(NamedTuple):
    """Where a path of some document comes from: the place in the file, and the documents on the way."""

    location: Location
    steps: tuple[TraceStep, ...]


def locate(doc: TracedDocument, path: Path, at_key: bool = False) -> SourceLocation:
    """The place in a file for ``path`` in ``doc``; climbs to where the nearest part was written.

    Every document but that of the flags traces to a file at its root. Raises LookupError for the latter.
    """
    source_location = find_source_location(doc, path, at_key)
    if source_location is None:
        raise LookupError(f"{doc.name} comes from no file")
    return source_location


def find_source_location(doc: TracedDocument, path: Path, at_key: bool = False) -> SourceLocation | None:
    """The same, or None for what only a flag gave."""
    written_word = _find_written_word(doc, path) if isinstance(path, TextPath) else None
    if written_word is not None:
        return find_source_location(written_word.doc, written_word.path, at_key)
    for cut in range(len(path), -1, -1):
        steps = trace_to_source(doc, path[:cut])
        end = steps[-1]
        if end.doc.source is not None:
            whole = cut == len(path)
            within = _within(doc, path, end) if whole and isinstance(path, TextPath) else None
            where = within or _build_location(end.doc, end.path, at_key and whole)
            return SourceLocation(where, tuple(steps))
    return None


def _find_written_word(doc: TracedDocument, path: TextPath) -> DocumentPath | None:
    """Return the entry of a list that became a word of a command line, if a range is that word.

    Controllers join words of several fields to one line; of equal words none is told from the other.
    """
    made = value_at(doc.data, path)
    if doc.source is not None or not isinstance(made, str):
        return None
    origin, _ = find_origin(doc, path)
    if origin.derivation == "copied":
        return None
    words = _split_words(made[slice(*path.text_range)])
    found = [
        DocumentPath(place.doc, (*place.path, at))
        for place in origin.sources
        if isinstance(entries := value_at(place.doc.data, place.path), list)
        for at, entry in enumerate(entries)
        if [entry] == words
    ]
    return found[0] if len(found) == 1 else None


def _split_words(text: str) -> list[str]:
    """Return the words of a part of a line, without their quotes."""
    from shlex import split

    try:
        return split(text)
    except ValueError:
        return []


def _within(doc: TracedDocument, path: TextPath, end: TraceStep) -> Location | None:
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

    Where a line differs, as one with a parameter does, it is all of the line, or of the only line the words
    at the same place; None where that is unknown.
    """
    start, end = wanted
    if not 0 <= start <= end <= len(made) or not written:
        return None
    at = made.find(written)
    if at >= 0 and made.find(written, at + 1) < 0:
        return (start - at, end - at) if at <= start and end <= at + len(written) else None
    from podplan.core.text_diff import iter_diff_ranges

    before, after = made.split("\n"), written.split("\n")
    number = made.count("\n", 0, start)
    shift = 0
    for stretch in iter_diff_ranges(before, after):
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
        words = _find_words(made, written, wanted) if line == written else None
        return words or (first, first + len(line))
    column = start - sum(len(text) + 1 for text in before[:number])
    return first + column, first + min(column + end - start, len(line))


def _find_words(made: str, written: str, wanted: tuple[int, int]) -> tuple[int, int] | None:
    """The words of a ``written`` line at the places of those of ``made``; None where their number differs."""
    before, after = ([found.span() for found in _WORD.finditer(line)] for line in (made, written))
    chosen = [at for at, (start, end) in enumerate(before) if start < wanted[1] and end > wanted[0]]
    if len(before) != len(after) or not chosen:
        return None
    return after[chosen[0]][0], after[chosen[-1]][1]


def _build_location(doc: TracedDocument, path: Path, at_key: bool) -> Location:
    """The place of a value; of a block below its key, the key: there something is missing or too much."""
    source = doc.source
    assert source is not None
    span = source.span(path, on_key=at_key)
    if not at_key:
        key = source.key_span(path)
        if key is not None and key.line < span.line:
            span = key
    return Location(source.file, span.line, span.column, span.end_line, span.end_column, path)


def find_contributing_places(doc: TracedDocument, path: Path) -> list[DocumentPath]:
    """The further places that a computed value was worked out from, beside the one it is reported at."""
    places: list[DocumentPath] = []
    while doc.source is None:
        origin, remaining_path = find_origin(doc, path)
        if origin.derivation == "computed" and not remaining_path:
            places += origin.sources[1:]
        if not origin.sources:
            break
        place = origin.sources[0]
        doc, path = place.doc, (*place.path, *remaining_path) if origin.derivation == "copied" else place.path
    return places
