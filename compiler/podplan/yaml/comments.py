"""The comments of a file, and the keys and entries of its documents that they may be about.

YAML itself drops comments; so they are looked for in the text, between the scalars, where a # is no comment.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from podplan.core.lazy_regex import pattern
from podplan.core.typing import NamedTuple
from podplan.yaml import Document, Path
from podplan.yaml.document import Written
from podplan.yaml.positions import line_start

# A line that begins or ends a document.
MARKER = pattern(r"^(?:---|\.\.\.)(?=[ \t\r\n]|$)", re.MULTILINE)
_COMMENT = pattern(r"(?:\A|(?<=[ \t\r\n\ufeff]))#[^\r\n]*")
# The first line of a block scalar, which may end in a comment.
_BLOCK_HEADER = pattern(r"(?:[&!]\S*\s+)*[|>][^\r\n]*")
# A dash with its entry on a line below, maybe behind those of the lists around it.
_BARE_DASH = pattern(r"((?:-[ \t]+)*)-(?:[ \t]+#|$)")


class Comment(NamedTuple):
    """A comment with its ``#``, its 0-based offset and that of its line; ``alone``: nothing is before it."""

    start: int
    text: str
    line_start: int
    alone: bool


class Node(NamedTuple):
    """A key with its value, or an entry of a list: 0-based offsets of where it begins and where it ends.

    An entry of a block list begins with its dash; ``content`` is behind it, and else the same as ``start``.
    """

    start: int
    content: int
    end: int
    document: int
    path: Path


def comments(
    text: str, documents: Iterable[Document], first: int = 0, last: int | None = None
) -> Iterator[Comment]:
    """The comments of a text between two offsets, in order; ``documents`` are those that it holds."""
    scalars = sorted(extent for document in documents for extent in _scalars(document))
    return comments_beside(text, scalars, first, len(text) if last is None else last)


def comments_beside(text: str, scalars: list[tuple[int, int]], first: int, last: int) -> Iterator[Comment]:
    """The same, where the offsets of all scalars are known, in order; see ``scalar_extent``."""
    while found := _COMMENT.search(text, first, last):
        start = found.start()
        scalar = bisect_right(scalars, (start, start)) - 1
        if scalar >= 0 and scalars[scalar][0] < start < scalars[scalar][1]:
            first = scalars[scalar][1]
            continue
        begins = line_start(text, start)
        alone = not text[begins:start].strip("\ufeff \t")
        yield Comment(start, found[0].rstrip(), begins, alone)
        first = found.end()


def markers_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the marker above the content of a document ends, -1 without one, and where the next begins.

    Looks at no more than the lines in between, so that all documents of a file cost what the file does.
    """
    above = line_start(text, start)
    while above > 0 and not MARKER.match(text, above, start):
        above = line_start(text, above - 1)
    before, after = MARKER.match(text, above, start), MARKER.search(text, end)
    return (before.end() if before else -1), (after.start() if after else len(text))


def nodes(document: Document) -> list[Node]:
    """The keys and entries of a document, in the order of the text; what begins together, outermost first."""
    text = document.text
    found = (_node(written, document.index, text) for written in document.written())
    return sorted(found, key=lambda node: (node.start, len(node.path)))


def _node(written: Written, document: int, text: str) -> Node:
    content, end = written.extent
    if written.key is not None:
        start = content = written.key[0]
    else:
        start = dash_before(content, text)
    # What stands behind an alias or a merge key has its place elsewhere, and its end may come before.
    return Node(start, content, max(end, start), document, written.path)


def dash_before(start: int, text: str) -> int:
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
        first = line_start(text, line_end)
        line = text[first:line_end].strip(" \t")
        if bare := _BARE_DASH.match(line):
            return text.index("-", first) + len(bare[1])
        if line and not line.startswith("#"):
            return start
        line_end = first - 1
    return start


def _scalars(document: Document) -> Iterator[tuple[int, int]]:
    """The extents of keys and scalar values."""
    text = document.text
    for written in document.written():
        if written.key is not None:
            yield written.key
        if not isinstance(written.value, dict | list):
            yield scalar_extent(text, *written.extent)


def scalar_extent(text: str, start: int, end: int) -> tuple[int, int]:
    """Where a scalar has no comments: behind the first line of a block scalar, which may end in one."""
    header = _BLOCK_HEADER.match(text, start, end)
    return (header.end() if header else start), end
