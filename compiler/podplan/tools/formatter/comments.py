"""Comments and blank lines hung onto the entries that they are about, so that they move with them.

A comment in a line of its own is about the entry below it, unless it is indented like the entries above,
which it then closes. What a blank line parts from the first entry opens the whole collection.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter

from podplan.core.typing import NamedTuple
from podplan.yaml import Source, scalars
from podplan.yaml.comments import Comment, comments_beside
from podplan.yaml.positions import line_start
from podplan.yaml.tree import Leaf, Tree, scalar_extents, trees

_LINE_BREAK = re.compile(r"\r\n?|\n")
_LISTED = re.compile(r"#+[ \t]*-[ \t]")

Way = tuple[int, ...]
Home = tuple[str, Way]  # the table of Marks, and whose entry


class Place(NamedTuple):
    """An entry of a block: the indexes that lead to it, and its 0-based column."""

    way: Way
    leaf: Leaf
    column: int


class Page(NamedTuple):
    """The entries of all blocks of a document in order, outermost first; where they start; by their ways."""

    text: str
    places: list[Place]
    starts: list[int]
    by_way: dict[Way, Place]


class Marks(NamedTuple):
    """Lines for each entry by its way, and for each collection by the way that leads to it."""

    above: dict[Way, list[str]]
    beside: dict[Way, str]
    below: dict[Way, list[str]]
    closing: dict[Way, list[str]]


def commented(text: str, tree: Tree, first: int, last: int) -> Tree:
    """``tree``, the root of a document between two offsets of ``text``, with its comments and blank lines.

    Collections in brackets that hold comments become blocks, for there is no other room for them.
    """
    found = list(comments_beside(text, list(scalar_extents(text, tree)), first, last))
    tree = _opened(tree, [comment.start for comment in found])
    places = _places(tree, (), text)
    page = Page(text, places, [place.leaf.start for place in places], {place.way: place for place in places})
    marks = Marks({}, {}, {}, {})
    last_one, home = None, None
    for comment in found:
        goes_on = last_one is not None and _continues(comment, last_one, text)
        home = _place(comment, page, marks, home if goes_on else None)
        last_one = comment
    for place in places:
        if _stands_alone(place, text) and _is_after_blank(text, line_start(text, place.leaf.start)):
            marks.above.setdefault(_owner(place, page), []).append("")
    return _marked(tree, (), marks)


def _opened(tree: Tree, comments: list[int]) -> Tree:
    """``tree`` with blocks in the place of collections in brackets that hold a comment."""
    inside = bisect_right(comments, tree.start) < bisect_right(comments, tree.end - 1)
    entries = tuple(leaf._replace(value=_opened(leaf.value, comments)) for leaf in tree.entries)
    return tree._replace(entries=entries, flow=tree.flow and not inside)


def _places(tree: Tree, way: Way, text: str) -> list[Place]:
    """The entries of all blocks below a tree, in order, outermost first."""
    if tree.flow:
        return []
    found: list[Place] = []
    for index, leaf in enumerate(tree.entries):
        here = (*way, index)
        column = leaf.start - line_start(text, leaf.start)
        below = _places(leaf.value, here, text)
        found += [Place(here, leaf, column), *below]
    return found


def _continues(comment: Comment, before: Comment, text: str) -> bool:
    """Whether two comments in lines of their own stand right below one another."""
    between = text[before.start + len(before.text) : comment.start]
    column = before.start - before.line_start
    return (
        before.alone
        and comment.start - comment.line_start == column
        and not between.strip()
        and len(_LINE_BREAK.findall(between)) == 1
    )


def _place(comment: Comment, page: Page, marks: Marks, home: Home | None) -> Home | None:
    """Notes a comment where it belongs, which is ``home`` where that is known already; that comes back."""
    after = bisect_right(page.starts, comment.start)
    previous = page.places[after - 1] if after else None
    following = page.places[after] if after < len(page.places) else None
    if previous is not None and not comment.alone:
        ends = comment.line_start <= previous.leaf.value.end <= comment.start
        if (previous.leaf.start >= comment.line_start or ends) and previous.way not in marks.beside:
            marks.beside[previous.way] = comment.text
            return None
    blank = [""] if _is_after_blank(page.text, comment.line_start) else []
    where, way = home = home or _home(comment, previous, following, page)
    table = {"above": marks.above, "below": marks.below, "closing": marks.closing}[where]
    table.setdefault(way, []).extend([*blank, comment.text])
    return home


def _home(comment: Comment, previous: Place | None, following: Place | None, page: Page) -> Home:
    """What a comment in a line of its own, between two entries, is about."""
    column = comment.start - comment.line_start
    if previous is None:
        return "above", (0,)
    value = previous.leaf.value
    if value.what == "scalar" and comment.start < value.start:
        return "above", _owner(previous, page)
    if _is_empty(value) and column > max(previous.column, following.column if following else 0):
        return "below", previous.way
    for cut in range(len(previous.way) - 1, -1, -1):
        way = previous.way[:cut]
        if following is not None and following.way[:cut] == way:
            return "above", _owner(following, page)
        first = page.by_way[(*way, 0)]
        is_entry = first.leaf.key is None and first.column == column and _LISTED.match(comment.text)
        if first.column <= column and (following is None or column > following.column or is_entry):
            return "closing", way
    return "closing", ()


def _is_empty(value: Tree) -> bool:
    if value.what == "scalar":
        return not value.style and not value.prefix and scalars.resolve(value.value) is None
    return value.what != "alias" and not value.entries


def _owner(place: Place, page: Page) -> Way:
    """The way of an entry; for the first field of an entry of a list, that of the latter."""
    way = place.way
    while way[-1] == 0 and len(way) > 1 and page.by_way[way[:-1]].leaf.key is None:
        way = way[:-1]
    return way


def _stands_alone(place: Place, text: str) -> bool:
    start = place.leaf.start
    return not text[line_start(text, start) : start].strip("\ufeff \t")


def _is_after_blank(text: str, start: int) -> bool:
    """Whether the line above the one that starts there is blank."""
    end = start - (2 if text[max(start - 2, 0) : start] == "\r\n" else 1)
    above = line_start(text, max(end, 0))
    return above > 0 and not text[above:end].strip(" \t")


def _marked(tree: Tree, way: Way, marks: Marks) -> Tree:
    """``tree`` with its marks; lines above the first entry open it all where a blank line ends them."""
    entries = tuple(
        leaf._replace(
            value=_marked(leaf.value, (*way, index), marks),
            above=tuple(marks.above.get((*way, index), ())),
            beside=marks.beside.get((*way, index), ""),
            below=tuple(marks.below.get((*way, index), ())),
        )
        for index, leaf in enumerate(tree.entries)
    )
    opening: tuple[str, ...] = ()
    if entries and not tree.flow and (above := entries[0].above):
        cut = len(above) if not way else len(above) - above[::-1].index("") if "" in above else 0
        opening = above[:cut]
        entries = (entries[0]._replace(above=above[cut:]), *entries[1:])
    return tree._replace(entries=entries, opening=opening, closing=tuple(marks.closing.get(way, ())))


def said(source: Source) -> Counter[str]:
    """The comments of a file without faults, and how often it has each."""
    text = source.text
    if "#" not in text:
        return Counter()
    scalars = [extent for tree in trees(text) for extent in scalar_extents(text, tree)]
    return Counter(comment.text for comment in comments_beside(text, scalars, 0, len(text)))
