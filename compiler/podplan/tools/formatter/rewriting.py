"""Writes a changed tree as text: unchanged parts keep their characters, new ones are formatted.

The old and the new tree share the entries that did not change, as the same objects.
"""

from __future__ import annotations

from collections.abc import Callable

from podplan.tools.formatter.comments import count_comments
from podplan.yaml import parse_yaml
from podplan.yaml.positions import LINE_BREAK, find_line_start
from podplan.yaml.tree import CstEntry, CstNode
from podplan.yaml.tree_writer import FormatStyle, format_entry_lines, format_tree

Path = tuple[str | int, ...]


def change_at(tree: CstNode, path: Path, change: Callable[[CstNode], CstNode]) -> CstNode:
    """Return ``tree`` with the value at ``path`` changed. Raises LookupError: if the path does not exist."""
    if not path:
        return change(tree)
    index = find_entry_index(tree, path[0])
    leaf = tree.entries[index]
    leaf = leaf._replace(value=change_at(leaf.value, path[1:], change))
    return tree._replace(entries=(*tree.entries[:index], leaf, *tree.entries[index + 1 :]))


def find_entry_index(tree: CstNode, step: str | int) -> int:
    """Return the index of an entry. Raises LookupError: if it does not exist."""
    if isinstance(step, int) and tree.node_type == "list" and step < len(tree.entries):
        return step
    for index, leaf in enumerate(tree.entries):
        if leaf.key is not None and leaf.key.node_type == "scalar" and leaf.key.value == step:
            return index
    raise LookupError(step)


def build_scalar(text: str) -> CstNode:
    """Build a new scalar from its text."""
    return CstNode("scalar", -1, -1, value=text)


def build_field(name: str, value: CstNode) -> CstEntry:
    """Build a new entry of a mapping."""
    return CstEntry(build_scalar(name), value, -1)


def rewrite_document(text: str, old: CstNode, new: CstNode, start: int, end: int) -> str:
    """Return the text of a document, which is ``old`` between two offsets, changed to ``new``."""
    list_indent = "  " if indents_lists(old) else ""
    style = FormatStyle(list_indent, normalizes_scalars=False, width=len(text))
    line_break = LINE_BREAK.search(text)
    break_text = line_break[0] if line_break else "\n"
    formatted = "\n".join(format_tree(new._replace(is_flow=False), text, style)) + "\n"
    if old.is_flow:
        return formatted.replace("\n", break_text)
    spliced = _splice_entries(text, old, new, start, end, style, break_text)
    return spliced if _is_equivalent(spliced, formatted) else formatted.replace("\n", break_text)


def _is_equivalent(spliced: str, formatted: str) -> bool:
    """Whether one text has the same data as another, and all its comments."""
    spliced_source, formatted_source = parse_yaml(spliced.encode(), ""), parse_yaml(formatted.encode(), "")
    data = [[one.data for one in source.documents] for source in (spliced_source, formatted_source)]
    return data[0] == data[1] and count_comments(spliced_source) >= count_comments(formatted_source)


def indents_lists(tree: CstNode) -> bool:
    """Whether the first list of a document is indented below its key."""
    for leaf in tree.entries:
        value = leaf.value
        if value.node_type == "list" and not value.is_flow and value.entries and leaf.key is not None:
            return value.column > tree.column
        if value.entries and not value.is_flow:
            is_indented = _is_first_list_indented(value)
            if is_indented is not None:
                return is_indented
    return False


def _is_first_list_indented(tree: CstNode) -> bool | None:
    for leaf in tree.entries:
        value = leaf.value
        if value.is_flow or not value.entries:
            continue
        if value.node_type == "list" and leaf.key is not None:
            return value.column > tree.column
        is_indented = _is_first_list_indented(value)
        if is_indented is not None:
            return is_indented
    return None


def _splice_entries(
    text: str, old: CstNode, new: CstNode, start: int, end: int, style: FormatStyle, line_break: str
) -> str:
    """Return the entries of a block, from after its head to the end of its lines."""
    starts = [_find_entry_start(text, leaf, start) for leaf in old.entries]
    extents = list(zip(starts, [*starts[1:], end], strict=True))
    indent = " " * old.column
    in_line = bool(text[find_line_start(text, starts[0]) : starts[0]].strip())  # after a dash
    index_by_start = {leaf.start: index for index, leaf in enumerate(old.entries)}
    parts = [text[start : starts[0]]]
    for number, leaf in enumerate(new.entries):
        index = index_by_start.get(leaf.start, -1)
        old_entry, (first, last) = old.entries[index], extents[index]
        indented = not (in_line and index == 0)
        if index >= 0 and old_entry is leaf:
            piece = text[first:last]
        elif (
            index >= 0
            and leaf._replace(value=old_entry.value) == old_entry
            and _are_blocks(old_entry.value, leaf.value)
        ):
            child = _find_entry_start(text, old_entry.value.entries[0], _find_head_end(old_entry))
            piece = text[first:child] + _splice_entries(
                text, old_entry.value, leaf.value, child, last, style, line_break
            )
        else:
            piece = line_break.join(format_entry_lines(leaf, text, style, indent)) + line_break
            indented = True
        if indented and in_line and not number:
            piece = piece.removeprefix(indent)
        elif not indented and number:
            piece = indent + piece
        if number and not parts[-1].endswith(("\n", "\r")):
            parts.append(line_break)
        parts.append(piece)
    return "".join(parts)


def _are_blocks(*trees: CstNode) -> bool:
    return all(tree.entries and not tree.is_flow for tree in trees)


def _find_head_end(leaf: CstEntry) -> int:
    """Return where the block below an entry may begin: after its key, or its dash."""
    return leaf.key.end + 1 if leaf.key is not None else leaf.start + 1


def _find_entry_start(text: str, leaf: CstEntry, lower_bound: int) -> int:
    """Return where an entry begins, including the comments above it."""
    start = find_line_start(text, leaf.start)
    if text[max(start, lower_bound) : leaf.start].strip(" \t") or start < lower_bound:
        return leaf.start
    comments = sum(1 for line in leaf.comments_above if line)
    while start > lower_bound:
        previous_start = find_line_start(text, start - 1 - (text[start - 2 : start] == "\r\n"))
        line = text[previous_start:start].strip()
        if previous_start < lower_bound or (line and (not line.startswith("#") or not comments)):
            break
        if not line and not comments:
            break
        comments -= bool(line)
        start = previous_start
    return start
