"""The comments of a YAML document, each with the path of the data that it is about."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache

from podplan.core.findings import Path
from podplan.core.typing import Literal, NamedTuple
from podplan.yaml import Document
from podplan.yaml.comments import Comment, NodeSpan, find_markers_around, find_nodes, iter_comments


class PlacedComment(NamedTuple):
    """A comment with its ``#``, above, beside (on the same line) or below the data at ``path``, or at the
    top or the end of the document. A comment below is not indented less than the key or the dash."""

    text: str
    position: Literal["top", "above", "beside", "below", "end"]
    path: Path


class NodeIndex(NamedTuple):
    """A document and its keys and entries, in order and by path."""

    document: Document
    nodes: list[NodeSpan]
    by_path: dict[Path, NodeSpan]

    def column(self, path: Path) -> int:
        start = self.by_path[path].start
        return self.document.span_between(start, start).column


def extract_comments(document: Document, top: Path = ()) -> list[PlacedComment]:
    """Return the comments of one document of a file, in order; with ``top``, those below that path."""
    return list(_group_by_top(document, len(top)).get(top, ()))


@lru_cache(maxsize=1)  # the jobs of a List are imported in order
def _group_by_top(document: Document, depth: int) -> dict[Path, list[PlacedComment]]:
    """Group the comments of a document by the first ``depth`` steps of their paths, which are removed."""
    root = document.span(())
    before, after = find_markers_around(document.text, root.start, root.end)
    by_top: dict[Path, list[PlacedComment]] = {}
    if "#" not in document.text[max(before, 0) : after]:
        return by_top
    document_nodes = find_nodes(document)
    node_index = NodeIndex(document, document_nodes, {node.path: node for node in document_nodes})
    for comment in iter_comments(document.text, [document], max(before, 0), after):
        placed = _place_comment(comment, node_index)
        if not depth or len(placed.path) > depth:
            inside = placed._replace(path=placed.path[depth:])
            by_top.setdefault(placed.path[:depth], []).append(inside)
    return by_top


def _place_comment(comment: Comment, node_index: NodeIndex) -> PlacedComment:
    text, all_nodes = comment.text, node_index.nodes
    next_one = bisect_right(all_nodes, (comment.start,))
    if next_one == 0:
        return PlacedComment(text, "top", ())
    previous = all_nodes[next_one - 1]
    if not comment.is_own_line:
        on_line = all_nodes[bisect_left(all_nodes, (comment.line_start,)) : next_one]
        return PlacedComment(text, "beside", _select_commented_node(on_line, previous).path)
    column = comment.start - comment.line_start + 1
    if next_one < len(all_nodes) and column <= node_index.column(all_nodes[next_one].path):
        return PlacedComment(text, "above", all_nodes[next_one].path)
    if next_one == len(all_nodes) and column == 1:
        return PlacedComment(text, "end", ())
    path = previous.path
    while len(path) > 1 and node_index.column(path) > column:
        path = path[:-1]
    return PlacedComment(text, "below", path)


def _select_commented_node(on_line: list[NodeSpan], previous: NodeSpan) -> NodeSpan:
    """Return what a comment at the end of a line is about: the last of a block, the first of a flow
    collection."""
    if not on_line:
        return previous
    chain = [node for node in on_line if node.path[: len(on_line[0].path)] == on_line[0].path]
    nested = [node for node in chain if node.path == chain[0].path or _is_first_below(node, chain[0])]
    return nested[-1]


def _is_first_below(node: NodeSpan, top: NodeSpan) -> bool:
    """Whether ``node`` is the first field of the list entry ``top``, written on its line."""
    return node.start == top.content_start and len(node.path) == len(top.path) + 1
