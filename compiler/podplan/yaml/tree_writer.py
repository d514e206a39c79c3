"""Writes a tree as YAML for people: two blanks per level, flow collections are kept if they fit.

Of the data only the spelling is changed: booleans, nulls and quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from podplan.core.typing import NamedTuple
from podplan.yaml import scalars
from podplan.yaml.tree import CstEntry, CstNode
from podplan.yaml.writer import emit_document, format_scalar

WIDTH = 110
_LINE_BREAK = re.compile(r"\r\n?|\n")
_NEEDS_NO_ESCAPE = re.compile(r"[^\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\"\\]*")

Line = str | None  # None for an optional blank line


class FormatStyle(NamedTuple):
    """Indentation of lists below their key, whether scalars are normalized, and the maximum line width."""

    list_indent: str = "  "
    normalizes_scalars: bool = True
    width: int = WIDTH


DEFAULT_STYLE = FormatStyle()


def format_tree(tree: CstNode, text: str, style: FormatStyle = DEFAULT_STYLE, indent: str = "") -> list[str]:
    """Format a mapping or list that is not empty as lines; ``text`` is what it was parsed from."""
    return _collapse_blanks(_format_block(tree, indent, text, style))


def format_entry_lines(leaf: CstEntry, text: str, style: FormatStyle, indent: str) -> list[str]:
    """Format one entry of a mapping as lines, with its comments."""
    return _collapse_blanks(list(_format_entry(leaf, indent, text, style)))


def _collapse_blanks(lines: list[Line]) -> list[str]:
    collapsed: list[str] = []
    for line in lines:
        if line is not None or (collapsed and collapsed[-1] != ""):
            collapsed.append(line or "")
    return collapsed


def _format_block(tree: CstNode, indent: str, text: str, style: FormatStyle) -> list[Line]:
    lines = [*_indent_comments(tree.leading_comments, indent)]
    for leaf in tree.entries:
        lines += _format_entry(leaf, indent, text, style)
    while lines and lines[0] is None:
        del lines[0]
    return [*lines, *_indent_comments(tree.trailing_comments, indent)]


def _indent_comments(comments: tuple[str, ...], indent: str) -> Iterator[Line]:
    return (indent + line if line else None for line in comments)


def _format_entry(leaf: CstEntry, indent: str, text: str, style: FormatStyle) -> Iterator[Line]:
    leaf = _hoist_comments(leaf)
    yield from _indent_comments(leaf.comments_above, indent)
    head = indent + ("-" if leaf.key is None else f"{_format_key(leaf.key, text)}:")
    value, trailing_comment = leaf.value, f"  {leaf.line_comment}" if leaf.line_comment else ""
    if value.style in ("|", ">") and value.value.strip():
        yield from _format_long_text(value, head, indent, text, trailing_comment)
    elif value.node_type in ("scalar", "alias"):
        first, *rest = _format_scalar(value, text, style)
        lines = [f"{head} {first}".rstrip(), *(line and f"{indent}  {line}" for line in rest)]
        yield from lines[:-1]
        yield lines[-1] + trailing_comment
    elif (flow := _format_flow(value, text, style)) is not None and len(head) + 1 + len(flow) <= style.width:
        yield f"{head} {flow}{trailing_comment}"
    else:
        yield from _format_nested(leaf, head, indent, text, style, trailing_comment)
    yield from _indent_comments(leaf.comments_below, f"{indent}  ")


def _hoist_comments(leaf: CstEntry) -> CstEntry:
    """Move the comments above the first field of a list entry above its dash, where there is space."""
    value = leaf.value
    if leaf.key is not None or value.is_flow or not value.entries:
        return leaf
    first = _hoist_comments(value.entries[0])
    comments_above = (*leaf.comments_above, *value.leading_comments, *first.comments_above)
    value = value._replace(
        leading_comments=(), entries=(first._replace(comments_above=()), *value.entries[1:])
    )
    return leaf._replace(value=value, comments_above=comments_above)


def _format_nested(
    leaf: CstEntry, head: str, indent: str, text: str, style: FormatStyle, trailing_comment: str
) -> Iterator[Line]:
    """Format an entry with a block, which begins on the same line after a dash."""
    value = leaf.value
    inner_indent = indent + (
        style.list_indent if leaf.key is not None and value.node_type == "list" else "  "
    )
    lines = _format_block(value, inner_indent, text, style)
    if leaf.key is None and not value.prefix and not trailing_comment:
        first, *lines = lines
        assert first is not None, "a block begins with an entry"
        yield f"{head} {first[len(inner_indent) :]}"
    else:
        yield _append_words(head, value.prefix) + trailing_comment
    yield from lines


def _append_words(head: str, words: str) -> str:
    return f"{head} {words}" if words else head


def _format_flow(tree: CstNode, text: str, style: FormatStyle) -> str | None:
    """Format a value on one line; None for a block, and for a value with several lines."""
    if tree.node_type in ("scalar", "alias"):
        lines = _format_scalar(tree, text, style)
        return lines[0] if len(lines) == 1 else None
    if not tree.is_flow:
        return None
    parts = []
    for leaf in tree.entries:
        value = _format_flow(leaf.value, text, style)
        if value is None:
            return None
        parts.append(value if leaf.key is None else _append_words(f"{_format_key(leaf.key, text)}:", value))
    inner = ", ".join(parts)
    return f"{tree.prefix} ".lstrip() + (f"{{{inner}}}" if tree.node_type == "map" else f"[{inner}]")


def _format_key(key: CstNode, text: str) -> str:
    """Format a key, with quotes only if it needs them."""
    if key.node_type == "alias":
        return f"*{key.value} "
    if key.start < 0:
        return key.value
    written_text = text[key.start : key.end]
    if _LINE_BREAK.search(written_text):  # only possible for a key in braces
        return _append_words(key.prefix, format_scalar(key.value)).lstrip()
    return format_scalar(key.value) if key.style and not key.prefix else written_text


def _format_scalar(tree: CstNode, text: str, style: FormatStyle) -> list[str]:
    """Format a scalar or an alias as lines without indentation, the first to follow its key."""
    if tree.node_type == "alias":
        return [f"*{tree.value}"]
    if tree.start < 0:  # new
        return [tree.value]
    if tree.style in ("|", ">"):  # only blanks
        return [_append_words(tree.prefix, emit_document(tree.value).rstrip("\n")).lstrip()]
    lines = [line.strip(" \t") for line in _LINE_BREAK.split(text[tree.start : tree.end])]
    if len(lines) > 1 or not style.normalizes_scalars or "!" in tree.prefix:
        return lines
    if not tree.style:
        value = scalars.resolve_plain(tree.value)
        word = "null" if value is None else str(value).lower() if isinstance(value, bool) else tree.value
        return [_append_words(tree.prefix, word).lstrip()]
    if tree.style == "'" and _NEEDS_NO_ESCAPE.fullmatch(tree.value):
        return [_append_words(tree.prefix, f'"{tree.value}"').lstrip()]
    return lines


def _format_long_text(
    tree: CstNode, head: str, indent: str, text: str, trailing_comment: str
) -> Iterator[Line]:
    """Format a text of several lines below | or >."""
    lines = _format_literal(tree) if tree.style == "|" else _format_folded(tree, text)
    opening, *rest = lines
    yield f"{_append_words(head, tree.prefix)} {opening}{trailing_comment}"
    yield from (line and f"{indent}  {line}" for line in rest)


def _format_literal(tree: CstNode) -> list[str]:
    value = tree.value
    body = value.rstrip("\n")
    trailing_breaks = len(value) - len(body)
    begins_blank = value.lstrip("\n").startswith((" ", "\t")) or value.startswith(" ")
    indentation = "2" if begins_blank else ""
    chomping = "-" if trailing_breaks == 0 else "" if trailing_breaks == 1 else "+"
    return [f"|{indentation}{chomping}", *body.split("\n"), *[""] * (trailing_breaks - 1)]


def _format_folded(tree: CstNode, text: str) -> list[str]:
    """Return the lines of a folded scalar as written, because its value does not determine them."""
    written_text = text[tree.start : tree.end].removeprefix(tree.prefix).lstrip()
    opening, *lines = _LINE_BREAK.split(written_text)
    header = opening.partition("#")[0].strip()
    first = next(line for line in lines if line.strip(" "))
    own_indent = len(first) - len(first.lstrip(" "))
    indent_indicator = re.sub("[^0-9]", "", header)
    if indent_indicator:
        own_indent = tree.column + int(indent_indicator)
    content_lines = [line[own_indent:] for line in lines]
    while content_lines and not content_lines[-1]:
        content_lines.pop()
    blanks = len(tree.value) - len(tree.value.rstrip("\n")) - 1 if "+" in header else 0
    return [
        header.replace(indent_indicator, "2") if indent_indicator else header,
        *content_lines,
        *[""] * blanks,
    ]
