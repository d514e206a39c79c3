"""Attaches comments and blank lines to the entries that they belong to, so that they move with them.

A comment on its own line belongs to the entry below it, unless it is indented like the entries above, which
it then closes. A comment separated by a blank line from the first entry opens the whole collection.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter

from podplan.core.typing import NamedTuple
from podplan.yaml import SourceFile, scalars
from podplan.yaml.comments import Comment, iter_comments_outside
from podplan.yaml.positions import find_line_start
from podplan.yaml.tree import CstEntry, CstNode, iter_scalar_spans, parse_cst

_LINE_BREAK = re.compile(r"\r\n?|\n")
_COMMENTED_ENTRY = re.compile(r"#+[ \t]*-[ \t]")

EntryPath = tuple[int, ...]
CommentTarget = tuple[str, EntryPath]  # the field of AttachedLines, and the path of the entry


class BlockEntry(NamedTuple):
    """An entry of a block: the indexes that lead to it, and its 0-based column."""

    path: EntryPath
    leaf: CstEntry
    column: int


class EntryIndex(NamedTuple):
    """The entries of all blocks of a document in order, outermost first; where they start; by their paths."""

    text: str
    entries: list[BlockEntry]
    starts: list[int]
    by_path: dict[EntryPath, BlockEntry]


class AttachedLines(NamedTuple):
    """Lines for each entry by its path, and for each collection by its path."""

    above: dict[EntryPath, list[str]]
    beside: dict[EntryPath, str]
    below: dict[EntryPath, list[str]]
    closing: dict[EntryPath, list[str]]


def attach_comments(text: str, tree: CstNode, first: int, last: int) -> CstNode:
    """Return ``tree``, the root of a document between two offsets of ``text``, with comments and blank lines.

    Flow collections that contain comments become blocks, because only those can keep them.
    """
    document_comments = list(iter_comments_outside(text, list(iter_scalar_spans(text, tree)), first, last))
    tree = _expand_commented(tree, [comment.start for comment in document_comments])
    block_entries = _list_block_entries(tree, (), text)
    entry_index = EntryIndex(
        text,
        block_entries,
        [place.leaf.start for place in block_entries],
        {place.path: place for place in block_entries},
    )
    attached = AttachedLines({}, {}, {}, {})
    previous_comment, comment_target = None, None
    for comment in document_comments:
        is_continued = previous_comment is not None and _is_continuation(comment, previous_comment, text)
        comment_target = _attach_comment(
            comment, entry_index, attached, comment_target if is_continued else None
        )
        previous_comment = comment
    for block_entry in block_entries:
        if _starts_its_line(block_entry, text) and _is_after_blank(
            text, find_line_start(text, block_entry.leaf.start)
        ):
            attached.above.setdefault(_find_owner_path(block_entry, entry_index), []).append("")
    return _apply_lines(tree, (), attached)


def _expand_commented(tree: CstNode, comments: list[int]) -> CstNode:
    """Return ``tree`` with blocks in place of flow collections that contain a comment."""
    has_comment = bisect_right(comments, tree.start) < bisect_right(comments, tree.end - 1)
    entries = tuple(leaf._replace(value=_expand_commented(leaf.value, comments)) for leaf in tree.entries)
    return tree._replace(entries=entries, is_flow=tree.is_flow and not has_comment)


def _list_block_entries(tree: CstNode, path: EntryPath, text: str) -> list[BlockEntry]:
    """Return the entries of all blocks below a tree, in order, outermost first."""
    if tree.is_flow:
        return []
    block_entries: list[BlockEntry] = []
    for index, leaf in enumerate(tree.entries):
        entry_path = (*path, index)
        column = leaf.start - find_line_start(text, leaf.start)
        nested_entries = _list_block_entries(leaf.value, entry_path, text)
        block_entries += [BlockEntry(entry_path, leaf, column), *nested_entries]
    return block_entries


def _is_continuation(comment: Comment, previous: Comment, text: str) -> bool:
    """Whether two comments on their own lines directly follow one another."""
    between = text[previous.start + len(previous.text) : comment.start]
    column = previous.start - previous.line_start
    return (
        previous.is_own_line
        and comment.start - comment.line_start == column
        and not between.strip()
        and len(_LINE_BREAK.findall(between)) == 1
    )


def _attach_comment(
    comment: Comment, entry_index: EntryIndex, attached: AttachedLines, known_target: CommentTarget | None
) -> CommentTarget | None:
    """Attach a comment to ``known_target``, or to the target found for it; return the target."""
    next_index = bisect_right(entry_index.starts, comment.start)
    previous = entry_index.entries[next_index - 1] if next_index else None
    following = entry_index.entries[next_index] if next_index < len(entry_index.entries) else None
    if previous is not None and not comment.is_own_line:
        ends_on_line = comment.line_start <= previous.leaf.value.end <= comment.start
        if (
            previous.leaf.start >= comment.line_start or ends_on_line
        ) and previous.path not in attached.beside:
            attached.beside[previous.path] = comment.text
            return None
    blank = [""] if _is_after_blank(entry_index.text, comment.line_start) else []
    table_name, path = known_target = known_target or _find_target(comment, previous, following, entry_index)
    table = {"above": attached.above, "below": attached.below, "closing": attached.closing}[table_name]
    table.setdefault(path, []).extend([*blank, comment.text])
    return known_target


def _find_target(
    comment: Comment, previous: BlockEntry | None, following: BlockEntry | None, entry_index: EntryIndex
) -> CommentTarget:
    """Return what a comment on its own line, between two entries, belongs to."""
    column = comment.start - comment.line_start
    if previous is None:
        return "above", (0,)
    value = previous.leaf.value
    if value.node_type == "scalar" and comment.start < value.start:
        return "above", _find_owner_path(previous, entry_index)
    is_deepest = column > max(previous.column, following.column if following else 0)
    # Further right than both entries is a second line beside the value above, or what may become its value.
    if is_deepest and (_is_empty_value(value) or (following is not None and _is_inline(value))):
        return "below", previous.path
    for depth in range(len(previous.path) - 1, -1, -1):
        path = previous.path[:depth]
        if following is not None and following.path[:depth] == path:
            return "above", _find_owner_path(following, entry_index)
        first = entry_index.by_path[(*path, 0)]
        is_entry = first.leaf.key is None and first.column == column and _COMMENTED_ENTRY.match(comment.text)
        if first.column <= column and (following is None or column > following.column or is_entry):
            return "closing", path
    return "closing", ()


def _is_inline(value: CstNode) -> bool:
    return (
        value.is_flow
        or value.node_type == "alias"
        or (value.node_type == "scalar" and value.style not in ("|", ">"))
    )


def _is_empty_value(value: CstNode) -> bool:
    if value.node_type == "scalar":
        return not value.style and not value.prefix and scalars.resolve_plain(value.value) is None
    return value.node_type != "alias" and not value.entries


def _find_owner_path(block_entry: BlockEntry, entry_index: EntryIndex) -> EntryPath:
    """Return the path of an entry; for the first field of a list entry, the path of that entry."""
    path = block_entry.path
    while path[-1] == 0 and len(path) > 1 and entry_index.by_path[path[:-1]].leaf.key is None:
        path = path[:-1]
    return path


def _starts_its_line(block_entry: BlockEntry, text: str) -> bool:
    start = block_entry.leaf.start
    return not text[find_line_start(text, start) : start].strip("\ufeff \t")


def _is_after_blank(text: str, start: int) -> bool:
    """Whether the line above the one that starts there is blank."""
    end = start - (2 if text[max(start - 2, 0) : start] == "\r\n" else 1)
    previous_start = find_line_start(text, max(end, 0))
    return previous_start > 0 and not text[previous_start:end].strip(" \t")


def _apply_lines(tree: CstNode, path: EntryPath, attached: AttachedLines) -> CstNode:
    """Return ``tree`` with its lines; those above the first entry open the collection if a blank line ends
    them."""
    entries = tuple(
        leaf._replace(
            value=_apply_lines(leaf.value, (*path, index), attached),
            comments_above=tuple(attached.above.get((*path, index), ())),
            line_comment=attached.beside.get((*path, index), ""),
            comments_below=tuple(attached.below.get((*path, index), ())),
        )
        for index, leaf in enumerate(tree.entries)
    )
    opening: tuple[str, ...] = ()
    if entries and not tree.is_flow and (first_above := entries[0].comments_above):
        opening_length = (
            len(first_above)
            if not path
            else len(first_above) - first_above[::-1].index("")
            if "" in first_above
            else 0
        )
        opening = first_above[:opening_length]
        entries = (entries[0]._replace(comments_above=first_above[opening_length:]), *entries[1:])
    return tree._replace(
        entries=entries, leading_comments=opening, trailing_comments=tuple(attached.closing.get(path, ()))
    )


def count_comments(source: SourceFile) -> Counter[str]:
    """Count the comments of a file without syntax errors."""
    text = source.text
    if "#" not in text:
        return Counter()
    scalars = [extent for tree in parse_cst(text) for extent in iter_scalar_spans(text, tree)]
    return Counter(comment.text for comment in iter_comments_outside(text, scalars, 0, len(text)))
