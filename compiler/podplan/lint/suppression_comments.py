"""Comments in a file that suppress findings, and the stretch of the file that each of them covers.

At the end of a line a comment covers the key or the entry that begins on this line; on a line of its own, the
one below it. Above the first key of a document it covers the whole document.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from podplan.core.findings import Location, Path
from podplan.core.limits import MAX_SUPPRESSIONS, LimitExceeded, limit_exceeded
from podplan.core.typing import NamedTuple
from podplan.lint.suppression_syntax import DIRECTIVE_PATTERN, SuppressionDirective, parse_directive
from podplan.yaml import LineIndex, SourceFile
from podplan.yaml.comments import DOCUMENT_MARKER, Comment, NodeSpan, find_nodes, iter_comments

_NOTHING_BELOW_MESSAGE = (
    "nothing stands below this comment that it could cover; put it above the key it is about"
)


class CoveredRange(NamedTuple):
    """What a comment covers: lines and columns 1-based, from ``start`` to ``end``, and the node there.

    ``document`` is the index of the document and ``path`` leads to the node; both are None for a mere line,
    or for a whole file.
    """

    start: tuple[int, int]
    end: tuple[int, int]
    document: int | None = None
    path: Path | None = None


class SuppressionComment(NamedTuple):
    """A comment that suppresses, or tries to: what is written, where, and what it covers."""

    directive: SuppressionDirective
    location: Location
    covered_range: CoveredRange


class _FileContext(NamedTuple):
    """What comments may be about: the nodes of a file in order, the offsets where its documents end, by their
    index, and those of its markers.
    """

    file: str
    lines: LineIndex
    nodes: Sequence[NodeSpan]
    document_ends: Mapping[int, int]
    markers: Sequence[int]


_END_POSITION = (2**62, 0)
WHOLE_FILE_RANGE = CoveredRange((0, 0), _END_POSITION)


def find_suppression_comments(source: SourceFile) -> list[SuppressionComment]:
    """The comments of a file that suppress findings, in order. Raises LimitExceeded."""
    text = source.text
    candidates = sum(parse_directive(match["body"]) is not None for match in DIRECTIVE_PATTERN.finditer(text))
    if not candidates:
        return []
    if candidates > MAX_SUPPRESSIONS:
        limit_text = f"more than {MAX_SUPPRESSIONS:,} comments that ignore findings"
        message = limit_exceeded("suppressions", f"{limit_text}; turn the rules off in podplan.toml instead")
        raise LimitExceeded(message).with_file(source.file)
    file_nodes = [node for document in source.documents for node in find_nodes(document)]
    document_ends: dict[int, int] = {}
    for node in file_nodes:
        document_ends[node.document] = max(node.end, document_ends.get(node.document, 0))
    markers = [marker.start() for marker in DOCUMENT_MARKER.finditer(text)]
    context = _FileContext(source.file, LineIndex(text), file_nodes, document_ends, markers)
    return [
        _build_suppression_comment(written, comment, comment.start + match.start(), context)
        for comment in iter_comments(text, source.documents)
        if (match := DIRECTIVE_PATTERN.search(comment.text)) and (written := parse_directive(match["body"]))
    ]


def _build_suppression_comment(
    directive: SuppressionDirective, comment: Comment, start: int, context: _FileContext
) -> SuppressionComment:
    """What is written from the offset ``start`` in ``comment`` on, and what it covers."""
    end = comment.start + len(comment.text)
    if directive.error or directive.whole_file:
        covered_range = WHOLE_FILE_RANGE
    elif not comment.is_own_line or start > comment.start:
        covered_range = _find_range_on_line(comment.line_start, start, context)
    else:
        range_below = _find_range_below(end, context)
        covered_range = range_below or WHOLE_FILE_RANGE
        directive = directive if range_below else SuppressionDirective(error=_NOTHING_BELOW_MESSAGE)
    span = context.lines.build_span(start, end)
    location = Location(
        context.file, span.line, span.column, span.end_line, span.end_column, covered_range.path or ()
    )
    return SuppressionComment(directive, location, covered_range)


def _find_range_on_line(line_start: int, start: int, context: _FileContext) -> CoveredRange:
    """What begins on the line of a comment at its end; where nothing does, the line itself."""
    nodes, lines = context.nodes, context.lines
    line, column = lines.line_and_column(start)
    first = bisect_left(nodes, (line_start,))
    if first == len(nodes) or nodes[first].start >= start:
        return CoveredRange((line, 1), (line, column))
    node = nodes[first]
    last = max(lines.line_and_column(node.end), (line, column))
    return CoveredRange((line, 1), last, node.document, node.path)


def _find_range_below(end: int, context: _FileContext) -> CoveredRange | None:
    """What begins below a comment on a line of its own, in the same document; None for nothing."""
    nodes, lines = context.nodes, context.lines
    following = bisect_right(nodes, (end,))
    if following == len(nodes):
        return None
    node = nodes[following]
    is_first = following == 0 or nodes[following - 1].document != node.document
    # A comment above the marker of the first document belongs to that document, as a licence header does.
    if following and bisect_left(context.markers, end) < bisect_left(context.markers, node.start):
        return None
    if is_first:
        return CoveredRange(
            lines.line_and_column(end),
            lines.line_and_column(context.document_ends[node.document]),
            node.document,
            (),
        )
    return CoveredRange(
        (lines.line_and_column(node.start)[0], 1), lines.line_and_column(node.end), node.document, node.path
    )
