"""Writes a profile as YAML for people: with comments, and short mappings and lists on one line."""

from __future__ import annotations

import re
from collections.abc import Iterable

from podplan.core.findings import Path
from podplan.core.typing import Any, NamedTuple
from podplan.tools.importer.comments import PlacedComment
from podplan.yaml.tree import CstEntry, CstNode
from podplan.yaml.tree_writer import FormatStyle, format_tree
from podplan.yaml.writer import format_scalar

STYLE = FormatStyle(width=100)
_MAX_FLOW_LEAVES = 8
_LITERAL = re.compile(r"[!-~](?:[ -~]*[!-~])?(?:\n(?:[ -~]*[!-~])?)*\n?")
# Fields that are more readable with a line for each entry, even if short.
_ALWAYS_BLOCK = (("spec",), ("spec", "env"))


class CommentIndex(NamedTuple):
    """The comments at each path, and the paths that have comments below."""

    by_path: dict[Path, list[PlacedComment]]
    parent_paths: frozenset[Path]

    def list_texts(self, path: Path, *positions: str) -> tuple[str, ...]:
        """Return the comments at a path in some positions."""
        return tuple(comment.text for comment in self.by_path.get(path, ()) if comment.position in positions)


def render_profile(profile: dict[str, Any], comments: Iterable[PlacedComment] = ()) -> str:
    """Render ``profile`` as YAML; ``comments`` have paths in it."""
    by_path: dict[Path, list[PlacedComment]] = {}
    for comment in comments:
        by_path.setdefault(comment.path, []).append(comment)
    parent_paths = frozenset(path[:cut] for path in by_path for cut in range(len(path)))
    comment_index = CommentIndex(by_path, parent_paths)
    tree = _build_node(profile, (), comment_index)
    tree = tree._replace(
        is_flow=False,
        leading_comments=comment_index.list_texts((), "top", "above", "beside", "below"),
        trailing_comments=(*tree.trailing_comments, *comment_index.list_texts((), "end")),
    )
    return "\n".join(format_tree(tree, "", STYLE)) + "\n"


def _build_node(value: Any, path: Path, comment_index: CommentIndex) -> CstNode:
    """Build the tree of ``value``; a comment below an entry is written above the next, or ends the block."""
    if not isinstance(value, dict | list):
        style = "|" if _is_literal(value) else ""
        return CstNode("scalar", -1, -1, style=style, value=value if style else format_scalar(value))
    entries: list[CstEntry] = []
    comments_before: tuple[str, ...] = ()
    for step, child in value.items() if isinstance(value, dict) else enumerate(value):
        child_path = (*path, step)
        key = CstNode("scalar", -1, -1, value=format_scalar(str(step))) if isinstance(value, dict) else None
        *more, line_comment = ("", *comment_index.list_texts(child_path, "beside"))
        comments_above = (*comments_before, *comment_index.list_texts(child_path, "above"), *more[1:])
        child_node = _build_node(child, child_path, comment_index)
        entries.append(CstEntry(key, child_node, -1, comments_above, line_comment))
        comments_before = comment_index.list_texts(child_path, "below")
    is_flow = not value or (
        path not in _ALWAYS_BLOCK and path not in comment_index.parent_paths and _is_small(value)
    )
    return CstNode(
        "map" if isinstance(value, dict) else "list",
        -1,
        -1,
        is_flow=is_flow,
        entries=tuple(entries),
        trailing_comments=comments_before,
    )


def _is_literal(value: Any) -> bool:
    """Whether a value is a text of several lines that can be a block scalar."""
    return (
        isinstance(value, str)
        and "\n" in value
        and not value.endswith("\n\n")
        and bool(_LITERAL.fullmatch(value))
    )


def _is_small(value: Any) -> bool:
    """Whether a collection is readable on one line: scalars, and at most one level of short collections."""
    if _holds_literal(value):
        return False
    if isinstance(value, list):
        return not any(isinstance(entry, dict | list) for entry in value)
    nested = [entry for entry in value.values() if isinstance(entry, dict | list)]
    flat = all(
        not any(
            isinstance(leaf, dict | list) for leaf in (entry.values() if isinstance(entry, dict) else entry)
        )
        for entry in nested
    )
    return flat and sum(map(_count_leaves, value.values())) <= _MAX_FLOW_LEAVES


def _holds_literal(value: Any) -> bool:
    entries = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_holds_literal, entries)) or (_is_literal(value))


def _count_leaves(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 1
