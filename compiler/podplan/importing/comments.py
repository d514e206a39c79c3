"""The comments of a YAML document, each with the path of the data that it is about."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from podplan.findings import Path
from podplan.source import Document

_COMMENT = re.compile(r"(?:^|(?<=[ \t\r\n\ufeff]))#[^\r\n]*")
_LINE_BREAK = re.compile(r"[\r\n]")
_MARKER = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n]|$)", re.MULTILINE)


class Comment(NamedTuple):
    """A comment with its ``#``. It stands above, beside (on the same line) or below the data at ``path``,
    or at the top or the end of the document. Below, it begins no further left than the key or the dash.
    """

    text: str
    where: Literal["top", "above", "beside", "below", "end"]
    path: Path


class Node(NamedTuple):
    """Where a key, or an entry of a list, begins: 1-based line and column, 0-based offset.

    The column of an entry of a block list is that of its dash.
    """

    start: int
    line: int
    column: int
    path: Path


def comments_of(document: Document, text: str, top: Path = ()) -> list[Comment]:
    """The comments of one document of the file ``text``, in order; with ``top``, those below that path."""
    first, last = _extent(document, text)
    nodes = sorted(_nodes(document), key=lambda node: (node.start, len(node.path)))
    columns = {node.path: node.column for node in nodes}
    scalars = sorted(_scalars(document))
    placed = (
        _placed(match[0].rstrip(), match.start(), text, nodes, columns)
        for match in _COMMENT.finditer(text, first, last)
        if not _inside(match.start(), scalars)
    )
    below = len(top)
    return [
        comment._replace(path=comment.path[below:])
        for comment in placed
        if comment.path[:below] == top and (not below or len(comment.path) > below)
    ]


def _extent(document: Document, text: str) -> tuple[int, int]:
    """The offsets between the markers around a document."""
    root = document.span(())
    before = [match.end() for match in _MARKER.finditer(text, 0, root.start)]
    after = _MARKER.search(text, root.end)
    return (before[-1] if before else 0), (after.start() if after else len(text))


def _placed(comment: str, start: int, text: str, nodes: list[Node], columns: dict[Path, int]) -> Comment:
    next_one = bisect_right(nodes, (start,))
    line_start = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    if next_one == 0:
        return Comment(comment, "top", ())
    previous = nodes[next_one - 1]
    if text[line_start:start].strip("\ufeff \t"):
        on_line = nodes[bisect_left(nodes, (line_start,)) : next_one]
        return Comment(comment, "beside", _leaf(on_line, previous).path)
    column = start - line_start + 1
    if next_one < len(nodes) and column <= nodes[next_one].column:
        return Comment(comment, "above", nodes[next_one].path)
    if next_one == len(nodes) and column == 1:
        return Comment(comment, "end", ())
    path = previous.path
    while len(path) > 1 and columns[path] > column:
        path = path[:-1]
    return Comment(comment, "below", path)


def _leaf(on_line: list[Node], previous: Node) -> Node:
    """What a comment at the end of a line is about: the last of a block, the first of a flow collection."""
    if not on_line:
        return previous
    chain = [node for node in on_line if node.path[: len(on_line[0].path)] == on_line[0].path]
    nested = [node for node in chain if node.path == chain[0].path or _is_first_below(node, chain[0])]
    return nested[-1]


def _is_first_below(node: Node, top: Node) -> bool:
    """Whether ``node`` is the first field of the list entry ``top``, written on its line."""
    return node.start == top.start and len(node.path) == len(top.path) + 1


def _inside(offset: int, scalars: list[tuple[int, int]]) -> bool:
    i = bisect_right(scalars, (offset, offset)) - 1
    return i >= 0 and scalars[i][0] < offset < scalars[i][1]


def _nodes(document: Document) -> Iterator[Node]:
    for path in _paths(document.data):
        span = document.span(path, on_key=isinstance(path[-1], str))
        around = document.span(path[:-1])
        dashed = isinstance(path[-1], int) and document.text[around.start] == "-"
        yield Node(span.start, span.line, around.column if dashed else span.column, path)


def _scalars(document: Document) -> Iterator[tuple[int, int]]:
    """The extents of keys and scalar values, in which a # is no comment."""
    for path in _paths(document.data):
        if isinstance(path[-1], str):
            key = document.span(path, on_key=True)
            yield key.start, key.end
        value: Any = document.data
        for step in path:
            value = value[step]
        if not isinstance(value, dict | list):
            span = document.span(path)
            yield _after_header(document.text, span.start, span.end), span.end


def _after_header(text: str, start: int, end: int) -> int:
    """Where the content of a scalar begins; the first line of a block scalar may end in a comment."""
    line_break = _LINE_BREAK.search(text, start, end) if text.startswith(("|", ">"), start) else None
    return line_break.start() if line_break else start


def _paths(data: Any, path: Path = ()) -> Iterator[Path]:
    entries: Any = (
        data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    )
    for step, value in entries:
        yield (*path, step)
        yield from _paths(value, (*path, step))
