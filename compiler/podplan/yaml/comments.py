"""The comments of a file, and the keys and entries of its documents that they may belong to.

YAML parsers drop comments, so they are searched for in the text between scalars.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple
from podplan.yaml import Document, Path
from podplan.yaml.document import PositionedNode
from podplan.yaml.positions import find_line_start

# A line that begins or ends a document.
DOCUMENT_MARKER = compile_lazily(r"^(?:---|\.\.\.)(?=[ \t\r\n]|$)", re.MULTILINE)
_COMMENT = compile_lazily(r"(?:\A|(?<=[ \t\r\n\ufeff]))#[^\r\n]*")
# The first line of a block scalar, which may end in a comment.
_BLOCK_HEADER = compile_lazily(r"(?:[&!]\S*\s+)*[|>][^\r\n]*")
# A dash whose entry is on a line below, possibly after dashes of enclosing lists.
_BARE_DASH = compile_lazily(r"((?:-[ \t]+)*)-(?:[ \t]+#|$)")


class Comment(NamedTuple):
    """A comment with its ``#``, its 0-based offset and that of its line; ``is_own_line`` if nothing
    precedes it."""

    start: int
    text: str
    line_start: int
    is_own_line: bool


class NodeSpan(NamedTuple):
    """A key with its value, or an entry of a list: the 0-based offsets of its start and end.

    An entry of a block list begins with its dash; ``content_start`` is after the dash, otherwise equal to
    ``start``.
    """

    start: int
    content_start: int
    end: int
    document: int
    path: Path


def iter_comments(
    text: str, documents: Iterable[Document], start: int = 0, end: int | None = None
) -> Iterator[Comment]:
    """Yield the comments of a text between two offsets, in order; ``documents`` are those that it
    contains."""
    scalar_spans = sorted(extent for document in documents for extent in _iter_scalar_spans(document))
    return iter_comments_outside(text, scalar_spans, start, len(text) if end is None else end)


def iter_comments_outside(
    text: str, scalar_spans: list[tuple[int, int]], position: int, end: int
) -> Iterator[Comment]:
    """Yield the comments given the sorted spans of all scalars; see ``scalar_content_span``."""
    while match := _COMMENT.search(text, position, end):
        start = match.start()
        index = bisect_right(scalar_spans, (start, start)) - 1
        if index >= 0 and scalar_spans[index][0] < start < scalar_spans[index][1]:
            position = scalar_spans[index][1]
            continue
        line_begin = find_line_start(text, start)
        is_own_line = not text[line_begin:start].strip("\ufeff \t")
        yield Comment(start, match[0].rstrip(), line_begin, is_own_line)
        position = match.end()


def find_markers_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the end of the marker above the content of a document, -1 without one, and the start of the
    next.

    Only the lines in between are read, so that all documents of a file together take linear time.
    """
    marker_start = find_line_start(text, start)
    while marker_start > 0 and not DOCUMENT_MARKER.match(text, marker_start, start):
        marker_start = find_line_start(text, marker_start - 1)
    before, after = DOCUMENT_MARKER.match(text, marker_start, start), DOCUMENT_MARKER.search(text, end)
    return (before.end() if before else -1), (after.start() if after else len(text))


def find_nodes(document: Document) -> list[NodeSpan]:
    """Return the keys and entries of a document, in the order of the text; of those with the same start,
    outermost first."""
    text = document.text
    node_spans = (_build_node_span(written, document.index, text) for written in document.iter_nodes())
    return sorted(node_spans, key=lambda node: (node.start, len(node.path)))


def _build_node_span(node: PositionedNode, document: int, text: str) -> NodeSpan:
    content, end = node.span
    if node.key_span is not None:
        start = content = node.key_span[0]
    else:
        start = find_dash(content, text)
    # The content of an alias or a merge key is elsewhere, and its end may come before.
    return NodeSpan(start, content, max(end, start), document, node.path)


def find_dash(start: int, text: str) -> int:
    """Return where the dash before an entry of a block list is; ``start`` for an entry in brackets."""
    position = start - 1
    while position >= 0 and text[position] in " \t":
        position -= 1
    if position >= 0 and text[position] == "-":
        return position
    if position < 0 or text[position] not in "\r\n":
        return start
    # The dash may be on a line above, with only comments in between.
    line_end = position
    while line_end > 0:
        first = find_line_start(text, line_end)
        line = text[first:line_end].strip(" \t")
        if bare := _BARE_DASH.match(line):
            return text.index("-", first) + len(bare[1])
        if line and not line.startswith("#"):
            return start
        line_end = first - 1
    return start


def _iter_scalar_spans(document: Document) -> Iterator[tuple[int, int]]:
    """Yield the spans of keys and scalar values."""
    text = document.text
    for node in document.iter_nodes():
        if node.key_span is not None:
            yield node.key_span
        if not isinstance(node.value, dict | list):
            yield scalar_content_span(text, *node.span)


def scalar_content_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the part of a scalar without comments: after the first line of a block scalar, which may end
    in one."""
    header = _BLOCK_HEADER.match(text, start, end)
    return (header.end() if header else start), end
