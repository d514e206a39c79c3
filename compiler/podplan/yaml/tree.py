"""A document as it is written: styles, anchors, aliases and comments, for what writes it anew.

Data and places are in ``Document``; here is what they leave out, from the same parser. Only for texts without
faults.
"""

from __future__ import annotations

from collections.abc import Iterator

from yaml import cyaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any, Literal, NamedTuple
from podplan.yaml.comments import dash_before, scalar_extent
from podplan.yaml.document import marked
from podplan.yaml.positions import line_start, scalar_end

_PREFIX = pattern(r"(?:[&!]\S*(?:\s+|\Z))*")


class Tree(NamedTuple):
    """A value as it is written. ``start`` and ``end`` are 0-based offsets; a block ends with its last entry.

    ``prefix`` is its anchor and tag. ``style`` is that of a scalar: ', ", | or >, and "" for a plain one;
    ``value`` is its text, or the name of an alias. ``flow``: in brackets. ``column`` is the 0-based column of
    the entries of a block, and for a scalar in one, of that block. ``opening`` and ``closing`` are lines of
    comments before the first entry and after the last, "" for a blank line.
    """

    what: Literal["scalar", "alias", "map", "list"]
    start: int
    end: int
    prefix: str = ""
    style: str = ""
    value: str = ""
    flow: bool = False
    column: int = 0
    entries: tuple[Leaf, ...] = ()
    opening: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()


class Leaf(NamedTuple):
    """An entry of a map (with ``key``) or list; ``start`` is the offset of its key or dash.

    ``above`` and ``below`` are lines of comments, "" for a blank one; ``beside`` ends the line of the key.
    """

    key: Tree | None
    value: Tree
    start: int
    above: tuple[str, ...] = ()
    beside: str = ""
    below: tuple[str, ...] = ()


def trees(text: str) -> list[Tree]:
    """The documents of a text that has no faults, without comments; those without content are left out."""
    base = marked(text)
    # The stubs of PyYAML leave out what is written in C.
    get = cyaml.CParser(text[base:]).get_event  # type: ignore[attr-defined]
    found: list[Tree] = []
    open_: list[tuple[Any, list[Tree]]] = []
    while True:
        event = get()
        kind = event.__class__
        if kind is StreamEndEvent:
            return found
        if kind is DocumentStartEvent:
            open_ = [(event, [])]
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            open_.append((event, []))
        elif kind is ScalarEvent or kind is AliasEvent:
            open_[-1][1].append(_leaf(text, event, base))
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            first, below = open_.pop()
            open_[-1][1].append(_collection(text, first, event, below, base))
        if len(open_) == 1 and open_[0][1]:
            tree = open_[0][1].pop()
            if tree.start != tree.end:
                found.append(tree)


def _leaf(text: str, event: Any, base: int) -> Tree:
    start, end = event.start_mark.index + base, event.end_mark.index + base
    if isinstance(event, AliasEvent):
        return Tree("alias", start, end, value=event.anchor or "")
    end = scalar_end(text, start, end)
    prefix = _PREFIX.match(text, start, end) if event.anchor or event.tag else None
    written = prefix[0].split() if prefix else []
    return Tree("scalar", start, end, " ".join(written), event.style or "", event.value)


def _collection(text: str, first: Any, last: Any, below: list[Tree], base: int) -> Tree:
    start = first.start_mark.index + base
    flow, is_map = first.flow_style, isinstance(first, MappingStartEvent)
    prefix = ""
    if first.anchor or first.tag:
        found = _PREFIX.match(text, start)
        prefix = " ".join(found[0].split()) if found else ""
    if is_map:
        entries = tuple(
            Leaf(key, value, key.start) for key, value in zip(below[::2], below[1::2], strict=True)
        )
    else:
        entries = tuple(
            Leaf(None, value, value.start if flow else dash_before(value.start, text)) for value in below
        )
    end = last.end_mark.index + base if flow else max(below[-1].end, start)
    column = 0 if flow else entries[0].start - _line_start(text, entries[0].start)
    entries = tuple(
        leaf._replace(value=leaf.value._replace(column=column)) if leaf.value.style == ">" else leaf
        for leaf in entries
    )
    what: Literal["map", "list"] = "map" if is_map else "list"
    return Tree(what, start, end, prefix, flow=flow, column=column, entries=entries)


def _line_start(text: str, offset: int) -> int:
    start = line_start(text, offset)
    return marked(text) if start == 0 else start


def scalar_extents(text: str, tree: Tree) -> Iterator[tuple[int, int]]:
    """Where the scalars below a tree stand, keys included, in order."""
    if tree.what == "scalar":
        yield scalar_extent(text, tree.start, tree.end)
    for leaf in tree.entries:
        if leaf.key is not None:
            yield from scalar_extents(text, leaf.key)
        yield from scalar_extents(text, leaf.value)
