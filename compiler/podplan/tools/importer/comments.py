"""The comments of a YAML document, each with the path of the data that it is about."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache

from podplan.core.findings import Path
from podplan.core.typing import Literal, NamedTuple
from podplan.yaml import Document
from podplan.yaml.comments import Comment, Node, comments, markers_around, nodes


class PlacedComment(NamedTuple):
    """A comment with its ``#``. It stands above, beside (on the same line) or below the data at ``path``,
    or at the top or the end of the document. Below, it begins no further left than the key or the dash.
    """

    text: str
    where: Literal["top", "above", "beside", "below", "end"]
    path: Path


class Page(NamedTuple):
    """A document and its keys and entries, in order and by path."""

    document: Document
    nodes: list[Node]
    by_path: dict[Path, Node]

    def column(self, path: Path) -> int:
        start = self.by_path[path].start
        return self.document.between(start, start).column


def comments_of(document: Document, top: Path = ()) -> list[PlacedComment]:
    """The comments of one document of a file, in order; with ``top``, those below that path."""
    return list(_by_top(document, len(top)).get(top, ()))


@lru_cache(maxsize=1)  # the jobs of a List are asked for one after the other
def _by_top(document: Document, below: int) -> dict[Path, list[PlacedComment]]:
    """The comments of a document by the first ``below`` steps of their paths, which they lose."""
    root = document.span(())
    before, after = markers_around(document.text, root.start, root.end)
    by_top: dict[Path, list[PlacedComment]] = {}
    if "#" not in document.text[max(before, 0) : after]:
        return by_top
    found = nodes(document)
    page = Page(document, found, {node.path: node for node in found})
    for comment in comments(document.text, [document], max(before, 0), after):
        placed = _placed(comment, page)
        if not below or len(placed.path) > below:
            inside = placed._replace(path=placed.path[below:])
            by_top.setdefault(placed.path[:below], []).append(inside)
    return by_top


def _placed(comment: Comment, page: Page) -> PlacedComment:
    text, found = comment.text, page.nodes
    next_one = bisect_right(found, (comment.start,))
    if next_one == 0:
        return PlacedComment(text, "top", ())
    previous = found[next_one - 1]
    if not comment.alone:
        on_line = found[bisect_left(found, (comment.line_start,)) : next_one]
        return PlacedComment(text, "beside", _leaf(on_line, previous).path)
    column = comment.start - comment.line_start + 1
    if next_one < len(found) and column <= page.column(found[next_one].path):
        return PlacedComment(text, "above", found[next_one].path)
    if next_one == len(found) and column == 1:
        return PlacedComment(text, "end", ())
    path = previous.path
    while len(path) > 1 and page.column(path) > column:
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
