"""The documents of a text, each with what belongs to it: the lines between the markers around it."""

from __future__ import annotations

from podplan.core.typing import NamedTuple
from podplan.yaml.comments import markers_around
from podplan.yaml.positions import LINE_BREAK
from podplan.yaml.tree import Tree, trees


class Extent(NamedTuple):
    """The root of a document, and the offsets of what belongs to it."""

    tree: Tree
    start: int
    end: int


def extents(text: str) -> list[Extent]:
    """The documents of a text without faults; those without content are left out."""
    found = []
    for tree in trees(text):
        before, after = markers_around(text, tree.start, tree.end)
        start = _behind(text, before, tree.start) if before >= 0 else len(text) - len(text.lstrip("\ufeff"))
        found.append(Extent(tree, start, after))
    return found


def _behind(text: str, start: int, content: int) -> int:
    """Where a document begins behind its ---: in the next line, unless it has something in this one."""
    line_break = LINE_BREAK.search(text, start)
    return line_break.end() if line_break and line_break.end() <= content else start
