"""Comments in a file that suppress findings, and the stretch of the file that each of them covers.

At the end of a line a comment covers the key or the entry that begins on this line; on a line of its own, the
one below it. Above the first key of a document it covers the whole document.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from podplan.findings import Location, Path
from podplan.limits import MAX_SUPPRESSIONS, BoundExceeded
from podplan.lint.directives import DIRECTIVE, Written, directive
from podplan.source import Document, Lines, Source

_MARKER = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n]|$)", re.MULTILINE)
_BLOCK_SCALAR = re.compile(r"(?:[&!]\S*\s+)*[|>][^\r\n]*")
_NOTHING_BELOW = "nothing stands below this comment that it could cover; put it above the key it is about"


class Cover(NamedTuple):
    """What a comment covers: lines and columns 1-based, from ``first`` up to ``last``, and what is in there.

    ``document`` is the index of the document and ``path`` leads to the node; None for a mere line, or for a
    whole file.
    """

    first: tuple[int, int]
    last: tuple[int, int]
    document: int | None = None
    path: Path | None = None


class Comment(NamedTuple):
    """A comment that suppresses, or tries to: what is written, where, and what it covers."""

    written: Written
    location: Location
    cover: Cover


class _Node(NamedTuple):
    """Where a key, or an entry of a list with its dash, begins, and where its value ends."""

    start: int
    depth: int
    end: int
    document: int
    path: Path


_END = (2**62, 0)
WHOLE_FILE = Cover((0, 0), _END)


def comments(source: Source) -> list[Comment]:
    """The comments of a file that suppress findings, in order. Raises BoundExceeded."""
    text = source.text
    found = [match for match in DIRECTIVE.finditer(text) if directive(match["body"])]
    if not found:
        return []
    if len(found) > MAX_SUPPRESSIONS:
        bound = f"{source.file}: more than {MAX_SUPPRESSIONS:,} comments that ignore findings"
        raise BoundExceeded(f"{bound}; turn the rules off in podplan.toml instead")
    nodes = sorted(node for document in source.documents for node in _nodes(document, text))
    scalars = sorted(extent for document in source.documents for extent in _scalars(document, text))
    lines = Lines(text)
    return [_comment(match, source, nodes, lines) for match in found if not _inside(match.start(), scalars)]


def _comment(match: re.Match[str], source: Source, nodes: Sequence[_Node], lines: Lines) -> Comment:
    written = directive(match["body"])
    assert written is not None
    text, start = source.text, match.start()
    end = match.start() + len(match[0].rstrip())
    line_start = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    if written.fault or written.whole_file:
        cover = WHOLE_FILE
    elif text[line_start:start].strip("\ufeff \t"):
        cover = _beside(line_start, start, nodes, lines)
    else:
        below = _below(end, source, nodes, lines)
        cover = below or WHOLE_FILE
        written = written if below else Written(fault=_NOTHING_BELOW)
    span = lines.span(start, end)
    where = Location(source.file, span.line, span.column, span.end_line, span.end_column, cover.path or ())
    return Comment(written, where, cover)


def _beside(line_start: int, start: int, nodes: Sequence[_Node], lines: Lines) -> Cover:
    """What begins on the line of a comment at its end; where nothing does, the line itself."""
    line, column = lines.at(start)
    first = bisect_left(nodes, (line_start,))
    if first == len(nodes) or nodes[first].start >= start:
        return Cover((line, 1), (line, column))
    node = nodes[first]
    last = max(lines.at(node.end), (line, column))
    return Cover((line, 1), last, node.document, node.path)


def _below(end: int, source: Source, nodes: Sequence[_Node], lines: Lines) -> Cover | None:
    """What begins below a comment on a line of its own, in the same document; None for nothing."""
    following = bisect_right(nodes, (end,))
    if following == len(nodes):
        return None
    node = nodes[following]
    first = following == 0 or nodes[following - 1].document != node.document
    # A comment above the marker of the first document belongs to that document, as a licence header does.
    if following and _MARKER.search(source.text, end, node.start):
        return None
    if first:
        ends = max(other.end for other in nodes if other.document == node.document)
        return Cover(lines.at(end), lines.at(ends), node.document, ())
    return Cover((lines.at(node.start)[0], 1), lines.at(node.end), node.document, node.path)


def _nodes(document: Document, text: str) -> Iterator[_Node]:
    for path, _ in _below_top(document.data):
        span = document.span(path)
        start = document.span(path, on_key=True).start if isinstance(path[-1], str) else span.start
        if isinstance(path[-1], int):
            start = _dash(start, text)
        # What stands behind an alias or a merge key has its place elsewhere, and its end may come before.
        yield _Node(start, len(path), max(span.end, start), document.index, path)


def _dash(start: int, text: str) -> int:
    """Where the dash before an entry of a block list stands; ``start`` for an entry in brackets."""
    at = start - 1
    while at >= 0 and text[at] in " \t":
        at -= 1
    if at >= 0 and text[at] == "-":
        return at
    if at < 0 or text[at] not in "\r\n":
        return start
    # The dash may stand on a line above, with nothing but comments in between.
    line_end = at
    while line_end > 0:
        line_start = max(text.rfind("\n", 0, line_end), text.rfind("\r", 0, line_end)) + 1
        line = text[line_start:line_end].strip(" \t")
        if line == "-" or line.startswith(("- #", "-\t#")):
            return text.index("-", line_start)
        if line and not line.startswith("#"):
            return start
        line_end = line_start - 1
    return start


def _scalars(document: Document, text: str) -> Iterator[tuple[int, int]]:
    """The extents of keys and scalar values, in which a # is no comment."""
    for path, value in _below_top(document.data):
        if isinstance(path[-1], str):
            key = document.span(path, on_key=True)
            yield key.start, key.end
        if not isinstance(value, dict | list):
            span = document.span(path)
            # The first line of a block scalar is its header, which may end in a comment.
            header = _BLOCK_SCALAR.match(text, span.start, span.end)
            yield (header.end() if header else span.start), span.end


def _inside(offset: int, extents: Sequence[tuple[int, int]]) -> bool:
    i = bisect_right(extents, (offset, offset)) - 1
    return i >= 0 and extents[i][0] <= offset < extents[i][1]


def _below_top(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    entries: Any = (
        data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    )
    for step, value in entries:
        yield (*path, step), value
        yield from _below_top(value, (*path, step))
