"""Builds the tree of a converted document: copied parts keep their characters and comments."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, value_at
from podplan.core.typing import Any
from podplan.kinds.conversion import Copied, Replaced
from podplan.tools.formatter.rewriting import build_field, build_scalar, find_entry_index
from podplan.yaml.edits.changes import format_inline
from podplan.yaml.tree import CstEntry, CstNode

_MERGE_KEY = "<<"


def resolve_copies(value: Any, cr: Mapping[str, Any]) -> Any:
    """Return a tree of a conversion as plain data."""
    if isinstance(value, Copied):
        return value_at(cr, value.path)
    if isinstance(value, Replaced):
        return resolve_copies(value.value, cr)
    if isinstance(value, Mapping):
        return {key: resolve_copies(below, cr) for key, below in value.items()}
    return [resolve_copies(below, cr) for below in value] if isinstance(value, list) else value


def build_document_tree(document: Mapping[str, Any], old: CstNode, cr: Mapping[str, Any]) -> CstNode:
    """Return the tree of a document that replaces ``old``, whose data is ``cr``."""
    return _Builder(old, cr).build(document, old)


def build_added_tree(document: Mapping[str, Any], old: CstNode, cr: Mapping[str, Any]) -> CstNode:
    """Return the tree of a document beside it, with parts of ``old``."""
    return _Builder(old, cr).build(document, None)


def keep_comments(tree: CstNode, others: list[CstNode], old: CstNode, target: Path) -> CstNode:
    """Return ``tree`` with the comments of ``old`` that neither it nor ``others`` have, above the field at
    ``target``."""
    present = Counter(line for one in (tree, *others) for line in _iter_comments(one))
    lost: list[str] = []
    for line in _iter_comments(old):
        if present[line]:
            present[line] -= 1
        else:
            lost.append(line)
    return _add_above(tree, target, tuple(lost)) if lost else tree


def _add_above(tree: CstNode, path: Path, lines: tuple[str, ...]) -> CstNode:
    try:
        index = find_entry_index(tree, path[0])
    except LookupError:
        index = len(tree.entries) - 1
        path = path[:1]
    entry = tree.entries[index]
    if len(path) > 1:
        entry = entry._replace(value=_add_above(entry.value, path[1:], lines))
    else:
        entry = entry._replace(comments_above=(*lines, *entry.comments_above))
    return tree._replace(entries=(*tree.entries[:index], entry, *tree.entries[index + 1 :]))


def _iter_comments(tree: CstNode) -> Iterator[str]:
    lines = [*tree.leading_comments]
    for entry in tree.entries:
        lines += [*entry.comments_above, entry.line_comment]
        lines += _iter_comments(entry.value)
        lines += entry.comments_below
    yield from (line for line in (*lines, *tree.trailing_comments) if line)


class _Builder:
    """Builds trees with parts of an old one."""

    def __init__(self, old: CstNode, cr: Mapping[str, Any]) -> None:
        self._old = old
        self._cr = cr

    def build(self, value: Any, counterpart: CstNode | None) -> CstNode:
        """Return the tree of a value; ``counterpart`` is the old tree at this path."""
        if isinstance(value, Copied):
            return self._copy_entry(value).value
        if isinstance(value, Mapping) and value:
            entries = tuple(self._build_field(key, below, counterpart) for key, below in value.items())
            return self._keep_block(CstNode("map", -1, -1, entries=entries), counterpart)
        if isinstance(value, list) and value:
            is_flow = not any(isinstance(below, Mapping | list | Copied) for below in value)
            return CstNode(
                "list", -1, -1, entries=tuple(self._build_item(below) for below in value), is_flow=is_flow
            )
        if isinstance(value, str) and "\n" in value:
            return build_scalar(json.dumps(value, ensure_ascii=False))
        return build_scalar("{}" if value == {} else "[]" if value == [] else format_inline(value))

    def _keep_block(self, tree: CstNode, counterpart: CstNode | None) -> CstNode:
        if counterpart is None or counterpart.node_type != "map" or counterpart.prefix:
            return tree
        return counterpart._replace(entries=tree.entries, is_flow=False)

    def _build_field(self, key: str, value: Any, counterpart: CstNode | None) -> CstEntry:
        if isinstance(value, Copied):
            entry = self._copy_entry(value)
            if entry.key is not None and entry.key.value == key:
                return entry
            return entry._replace(key=build_scalar(format_inline(key)))
        old = _find_entry(counterpart, key)
        if isinstance(value, Replaced):
            old, value = self._find_old(value.path), value.value
            if old is not None:
                old = old._replace(key=build_scalar(format_inline(key)), start=-1)
        if old is None:
            return build_field(format_inline(key), self.build(value, None))
        return old._replace(value=self.build(value, old.value))

    def _build_item(self, value: Any) -> CstEntry:
        if isinstance(value, Replaced):
            old = self._find_old(value.path) or build_field("", build_scalar(""))
            return old._replace(key=None, value=self.build(value.value, None), start=-1)
        if isinstance(value, Copied):
            return self._copy_entry(value)._replace(key=None)
        return CstEntry(None, self.build(value, None), -1)

    def _copy_entry(self, copied: Copied) -> CstEntry:
        """Return the entry at a path; rebuilt from its data if it has anchors, aliases or merge keys."""
        entry = self._find_old(copied.path)
        if entry is not None and not _has_references(entry.value):
            return entry
        data = value_at(self._cr, copied.path)
        value = self.build(data, None)
        above = entry.comments_above if entry is not None else ()
        return CstEntry(build_scalar(format_inline(copied.path[-1])), value, -1, comments_above=above)

    def _find_old(self, path: Path) -> CstEntry | None:
        tree = self._old
        entry = None
        for step in path:
            entry = _find_entry(tree, step)
            if entry is None:
                return None
            tree = entry.value
        return entry


def _find_entry(tree: CstNode | None, step: str | int) -> CstEntry | None:
    if tree is None or not tree.entries:
        return None
    try:
        return tree.entries[find_entry_index(tree, step)]
    except LookupError:
        return None


def _has_references(tree: CstNode) -> bool:
    """Whether a part refers to others of the document, or is referred to."""
    if tree.node_type == "alias" or tree.prefix:
        return True
    return any(
        (one.key is not None and one.key.value == _MERGE_KEY) or _has_references(one.value)
        for one in tree.entries
    )
