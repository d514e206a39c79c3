"""The concrete syntax tree of a document: styles, anchors, aliases and comments, for rewriting it.

Data and positions are in ``document.Document``; this module has what that omits, from the same parser. Only
for texts without syntax errors.
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

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, Literal, NamedTuple
from podplan.yaml.comments import find_dash, scalar_content_span
from podplan.yaml.document import count_byte_order_marks
from podplan.yaml.positions import find_line_start, find_scalar_end

_PREFIX = compile_lazily(r"(?:[&!]\S*(?:\s+|\Z))*")


class CstNode(NamedTuple):
    """A value as written. ``start`` and ``end`` are 0-based offsets; a block ends with its last entry.

    ``prefix`` is its anchor and tag. ``style`` is that of a scalar: ', ", | or >, and "" for a plain one;
    ``value`` is its text, or the name of an alias. ``is_flow``: in brackets. ``column`` is the 0-based column
    of the entries of a block, and for a scalar in one, of that block. ``leading_comments`` and
    ``trailing_comments`` are lines before the first entry and after the last, "" for a blank line.
    """

    node_type: Literal["scalar", "alias", "map", "list"]
    start: int
    end: int
    prefix: str = ""
    style: str = ""
    value: str = ""
    is_flow: bool = False
    column: int = 0
    entries: tuple[CstEntry, ...] = ()
    leading_comments: tuple[str, ...] = ()
    trailing_comments: tuple[str, ...] = ()


class CstEntry(NamedTuple):
    """An entry of a mapping (with ``key``) or list; ``start`` is the offset of its key or dash.

    ``comments_above`` and ``comments_below`` are lines, "" for a blank one; ``line_comment`` ends the line of
    the key.
    """

    key: CstNode | None
    value: CstNode
    start: int
    comments_above: tuple[str, ...] = ()
    line_comment: str = ""
    comments_below: tuple[str, ...] = ()


def parse_cst(text: str) -> list[CstNode]:
    """Parse the documents of a text without syntax errors; empty documents are skipped, comments are
    attached later."""
    base = count_byte_order_marks(text)
    # The stubs of PyYAML lack its C classes.
    get_event = cyaml.CParser(text[base:]).get_event  # type: ignore[attr-defined]
    roots: list[CstNode] = []
    stack: list[tuple[Any, list[CstNode]]] = []
    while True:
        event = get_event()
        kind = event.__class__
        if kind is StreamEndEvent:
            return roots
        if kind is DocumentStartEvent:
            stack = [(event, [])]
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            stack.append((event, []))
        elif kind is ScalarEvent or kind is AliasEvent:
            stack[-1][1].append(_build_leaf(text, event, base))
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            start_event, children = stack.pop()
            stack[-1][1].append(_build_collection(text, start_event, event, children, base))
        if len(stack) == 1 and stack[0][1]:
            tree = stack[0][1].pop()
            if tree.start != tree.end:
                roots.append(tree)


def _build_leaf(text: str, event: Any, base: int) -> CstNode:
    start, end = event.start_mark.index + base, event.end_mark.index + base
    if isinstance(event, AliasEvent):
        return CstNode("alias", start, end, value=event.anchor or "")
    end = find_scalar_end(text, start, end)
    prefix = _PREFIX.match(text, start, end) if event.anchor or event.tag else None
    properties = prefix[0].split() if prefix else []
    return CstNode("scalar", start, end, " ".join(properties), event.style or "", event.value)


def _build_collection(
    text: str, start_event: Any, end_event: Any, children: list[CstNode], base: int
) -> CstNode:
    start = start_event.start_mark.index + base
    is_flow, is_map = start_event.flow_style, isinstance(start_event, MappingStartEvent)
    prefix = ""
    if start_event.anchor or start_event.tag:
        match = _PREFIX.match(text, start)
        prefix = " ".join(match[0].split()) if match else ""
    if is_map:
        entries = tuple(
            CstEntry(key, value, key.start) for key, value in zip(children[::2], children[1::2], strict=True)
        )
    else:
        entries = tuple(
            CstEntry(None, value, value.start if is_flow else find_dash(value.start, text))
            for value in children
        )
    end = end_event.end_mark.index + base if is_flow else max(children[-1].end, start)
    column = 0 if is_flow else entries[0].start - _find_line_start(text, entries[0].start)
    entries = tuple(
        leaf._replace(value=leaf.value._replace(column=column)) if leaf.value.style == ">" else leaf
        for leaf in entries
    )
    node_type: Literal["map", "list"] = "map" if is_map else "list"
    return CstNode(node_type, start, end, prefix, is_flow=is_flow, column=column, entries=entries)


def _find_line_start(text: str, offset: int) -> int:
    start = find_line_start(text, offset)
    return count_byte_order_marks(text) if start == 0 else start


def iter_scalar_spans(text: str, node: CstNode) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the scalars of a tree, including keys, in order."""
    if node.node_type == "scalar":
        yield scalar_content_span(text, node.start, node.end)
    for entry in node.entries:
        if entry.key is not None:
            yield from iter_scalar_spans(text, entry.key)
        yield from iter_scalar_spans(text, entry.value)
