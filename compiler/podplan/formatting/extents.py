"""The documents of a text, each with what belongs to it: the lines between the markers around it."""

from __future__ import annotations

from podplan.source.comments import MARKER
from podplan.source.places import LINE_BREAK
from podplan.source.tree import Tree, trees
from podplan.typing import NamedTuple


class Extent(NamedTuple):
    """The root of a document, and the offsets of what belongs to it."""

    tree: Tree
    start: int
    end: int


def extents(text: str) -> list[Extent]:
    """The documents of a text without faults; those without content are left out."""
    found = []
    for tree in trees(text):
        before = [match.end() for match in MARKER.finditer(text, 0, tree.start)]
        after = MARKER.search(text, tree.end)
        start = _behind(text, before[-1], tree.start) if before else int(text.startswith("\ufeff"))
        found.append(Extent(tree, start, after.start() if after else len(text)))
    return found


def _behind(text: str, start: int, content: int) -> int:
    """Where a document begins behind its ---: in the next line, unless it has something in this one."""
    line_break = LINE_BREAK.search(text, start)
    return line_break.end() if line_break and line_break.end() <= content else start
