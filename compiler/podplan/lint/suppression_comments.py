"""Comments in a file that suppress findings, and the stretch of the file that each of them covers.

At the end of a line a comment covers the key or the entry that begins on this line; on a line of its own, the
one below it. Above the first key of a document it covers the whole document.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from podplan.core.findings import Location, Path
from podplan.core.limits import MAX_SUPPRESSIONS, BoundExceeded, beyond
from podplan.core.typing import NamedTuple
from podplan.lint.suppression_syntax import DIRECTIVE, Written, directive
from podplan.yaml import Lines, Source
from podplan.yaml.comments import MARKER, Comment, Node, comments, nodes

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


class SuppressionComment(NamedTuple):
    """A comment that suppresses, or tries to: what is written, where, and what it covers."""

    written: Written
    location: Location
    cover: Cover


class _Text(NamedTuple):
    """What comments may be about: the nodes of a file in order, the offsets where its documents end, by their
    index, and those of its markers.
    """

    file: str
    lines: Lines
    nodes: Sequence[Node]
    ends: Mapping[int, int]
    markers: Sequence[int]


_END = (2**62, 0)
WHOLE_FILE = Cover((0, 0), _END)


def suppressions(source: Source) -> list[SuppressionComment]:
    """The comments of a file that suppress findings, in order. Raises BoundExceeded."""
    text = source.text
    candidates = sum(directive(match["body"]) is not None for match in DIRECTIVE.finditer(text))
    if not candidates:
        return []
    if candidates > MAX_SUPPRESSIONS:
        bound = f"more than {MAX_SUPPRESSIONS:,} comments that ignore findings"
        message = beyond("suppressions", f"{bound}; turn the rules off in podplan.toml instead")
        raise BoundExceeded(message).in_file(source.file)
    found = [node for document in source.documents for node in nodes(document)]
    ends: dict[int, int] = {}
    for node in found:
        ends[node.document] = max(node.end, ends.get(node.document, 0))
    markers = [marker.start() for marker in MARKER.finditer(text)]
    about = _Text(source.file, Lines(text), found, ends, markers)
    return [
        _suppression(written, comment, comment.start + match.start(), about)
        for comment in comments(text, source.documents)
        if (match := DIRECTIVE.search(comment.text)) and (written := directive(match["body"]))
    ]


def _suppression(written: Written, comment: Comment, start: int, about: _Text) -> SuppressionComment:
    """What is written from the offset ``start`` in ``comment`` on, and what it covers."""
    end = comment.start + len(comment.text)
    if written.fault or written.whole_file:
        cover = WHOLE_FILE
    elif not comment.alone or start > comment.start:
        cover = _beside(comment.line_start, start, about)
    else:
        below = _below(end, about)
        cover = below or WHOLE_FILE
        written = written if below else Written(fault=_NOTHING_BELOW)
    span = about.lines.span(start, end)
    where = Location(about.file, span.line, span.column, span.end_line, span.end_column, cover.path or ())
    return SuppressionComment(written, where, cover)


def _beside(line_start: int, start: int, about: _Text) -> Cover:
    """What begins on the line of a comment at its end; where nothing does, the line itself."""
    nodes, lines = about.nodes, about.lines
    line, column = lines.at(start)
    first = bisect_left(nodes, (line_start,))
    if first == len(nodes) or nodes[first].start >= start:
        return Cover((line, 1), (line, column))
    node = nodes[first]
    last = max(lines.at(node.end), (line, column))
    return Cover((line, 1), last, node.document, node.path)


def _below(end: int, about: _Text) -> Cover | None:
    """What begins below a comment on a line of its own, in the same document; None for nothing."""
    nodes, lines = about.nodes, about.lines
    following = bisect_right(nodes, (end,))
    if following == len(nodes):
        return None
    node = nodes[following]
    first = following == 0 or nodes[following - 1].document != node.document
    # A comment above the marker of the first document belongs to that document, as a licence header does.
    if following and bisect_left(about.markers, end) < bisect_left(about.markers, node.start):
        return None
    if first:
        return Cover(lines.at(end), lines.at(about.ends[node.document]), node.document, ())
    return Cover((lines.at(node.start)[0], 1), lines.at(node.end), node.document, node.path)
