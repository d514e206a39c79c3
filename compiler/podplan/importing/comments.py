"""The comments of a YAML document, each with the path of the data that it is about."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from podplan.findings import Path
from podplan.source import Document, Lines
from podplan.source.comments import MARKER, Comment, Node, comments, nodes
from podplan.typing import Literal, NamedTuple


class PlacedComment(NamedTuple):
    """A comment with its ``#``. It stands above, beside (on the same line) or below the data at ``path``,
    or at the top or the end of the document. Below, it begins no further left than the key or the dash.
    """

    text: str
    where: Literal["top", "above", "beside", "below", "end"]
    path: Path


def comments_of(document: Document, top: Path = ()) -> list[PlacedComment]:
    """The comments of one document of a file, in order; with ``top``, those below that path."""
    found, lines = nodes(document), Lines(document.text)
    columns = {node.path: lines.at(node.start)[1] for node in found}
    placed = [
        _placed(comment, found, columns)
        for comment in comments(document.text, [document], *_extent(document))
    ]
    below = len(top)
    return [
        comment._replace(path=comment.path[below:])
        for comment in placed
        if comment.path[:below] == top and (not below or len(comment.path) > below)
    ]


def _extent(document: Document) -> tuple[int, int]:
    """The offsets between the markers around a document."""
    text, root = document.text, document.span(())
    before = [match.end() for match in MARKER.finditer(text, 0, root.start)]
    after = MARKER.search(text, root.end)
    return (before[-1] if before else 0), (after.start() if after else len(text))


def _placed(comment: Comment, found: list[Node], columns: dict[Path, int]) -> PlacedComment:
    text = comment.text
    next_one = bisect_right(found, (comment.start,))
    if next_one == 0:
        return PlacedComment(text, "top", ())
    previous = found[next_one - 1]
    if not comment.alone:
        on_line = found[bisect_left(found, (comment.line_start,)) : next_one]
        return PlacedComment(text, "beside", _leaf(on_line, previous).path)
    column = comment.start - comment.line_start + 1
    if next_one < len(found) and column <= columns[found[next_one].path]:
        return PlacedComment(text, "above", found[next_one].path)
    if next_one == len(found) and column == 1:
        return PlacedComment(text, "end", ())
    path = previous.path
    while len(path) > 1 and columns[path] > column:
        path = path[:-1]
    return PlacedComment(text, "below", path)


def _leaf(on_line: list[Node], previous: Node) -> Node:
    """What a comment at the end of a line is about: the last of a block, the first of a flow collection."""
    if not on_line:
        return previous
    chain = [node for node in on_line if node.path[: len(on_line[0].path)] == on_line[0].path]
    nested = [node for node in chain if node.path == chain[0].path or _is_first_below(node, chain[0])]
    return nested[-1]


def _is_first_below(node: Node, top: Node) -> bool:
    """Whether ``node`` is the first field of the list entry ``top``, written on its line."""
    return node.start == top.content and len(node.path) == len(top.path) + 1
