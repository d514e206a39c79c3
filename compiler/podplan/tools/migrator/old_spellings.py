"""Corrects old spellings of a CR by edits of its text, one after the other; the current names are data.

Names and words change in place. The comments of a moved field move with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import DocumentFix, Edit, Path, value_at
from podplan.core.typing import Any, NamedTuple
from podplan.schema.old_spellings import (
    find_current_kind,
    find_old_spelling,
    iter_command_words,
    iter_old_fields,
    iter_old_values,
)
from podplan.tools.formatter.rewriting import build_field, build_scalar, change_at, find_entry_index
from podplan.tools.importer.normalization import find_move, is_free_path, split_words
from podplan.yaml import Document
from podplan.yaml.edits.changes import FixRefused, build_edits
from podplan.yaml.tree import CstEntry, CstNode

Data = dict[str, Any]


class SpellingMigration(NamedTuple):
    """An old spelling: its path in the document, its correction, and the reason.

    ``change`` is applied to the text; without one, the field moves to ``target_path``.
    """

    path: Path
    change: DocumentFix | None
    target_path: Path
    description: str
    reason: str


def iter_old_spellings(cr: Data, top: Path) -> Iterator[SpellingMigration]:
    """Yield the old spellings in a CR at ``top`` of a document, the outermost first."""
    written_kind = cr.get("kind")
    kind = find_current_kind(written_kind) if isinstance(written_kind, str) else ""
    if kind:
        path = (*top, "kind")
        yield SpellingMigration(
            path,
            DocumentFix("", "set", path, kind),
            path,
            f"kind {written_kind} → {kind}",
            "the API has no other",
        )
    kind = kind or str(written_kind)
    for path, name in iter_old_fields(kind, cr):
        old, new, _ = find_move(cr, path, name)
        if is_free_path(cr, new):
            old_field_entry = find_old_spelling(kind, path)
            why = f"so far {old_field_entry.effect}" if old_field_entry is not None else ""
            says = f"{path[-1]} → {name.removeprefix('spec.')}"
            document_path, target_path = (*top, *old), (*top, *new)
            renames = old[:-1] == new[:-1]
            yield SpellingMigration(
                document_path,
                DocumentFix("", "rename", document_path, new[-1]) if renames else None,
                target_path,
                says,
                why,
            )
    for path, values in iter_old_values(kind, cr):
        current_value = value_at(cr, path)
        value = str(current_value).capitalize()
        if value in values and value != current_value:
            document_path = (*top, *path)
            why = "the API server refuses other values"
            yield SpellingMigration(
                document_path,
                DocumentFix("", "set", document_path, value),
                document_path,
                f"{path[-1]} {current_value} → {value}",
                why,
            )
    for path in iter_command_words(cr):
        word_list = split_words(value_at(cr, path))
        if word_list:
            document_path = (*top, *path)
            why = "the API server wants a list of words"
            yield SpellingMigration(
                document_path,
                DocumentFix("", "set", document_path, word_list),
                document_path,
                f"{path[-1]}: a text → a list of words",
                why,
            )


def build_spelling_edits(document: Document, old: SpellingMigration) -> tuple[Edit, ...]:
    """Return the edits for a change in place. Raises FixRefused: if it is impossible."""
    assert old.change is not None
    return build_edits(document, old.change)


def move_field(tree: CstNode, old: SpellingMigration) -> CstNode:
    """Return the root of a document with the field moved. Raises FixRefused: if that is impossible."""
    try:
        leaf = _get_entry(tree, old.path)
    except LookupError:
        raise FixRefused("it comes through an alias or a merge key") from None
    common = 0
    while (
        common < len(old.target_path) - 1
        and old.path[:-1][common : common + 1] == old.target_path[common : common + 1]
    ):
        common += 1
    name = old.target_path[-1]
    new = leaf._replace(key=build_scalar(str(name)))
    if common == len(old.path) - 1:
        # Its own mapping gets the new mappings in between: template.containers → template.spec.containers.
        for step in reversed(old.target_path[common:-1]):
            new = build_field(str(step), CstNode("map", -1, -1, entries=(new,)))
        return change_at(tree, old.path[:-1], lambda below: _replace_entry(below, old.path[-1], new))
    tree, comments = remove_entry(tree, old.path)
    return _append_entry(tree, old.target_path, new._replace(comments_above=(*comments, *new.comments_above)))


def _get_entry(tree: CstNode, path: Path) -> CstEntry:
    for step in path[:-1]:
        tree = tree.entries[find_entry_index(tree, step)].value
    return tree.entries[find_entry_index(tree, path[-1])]


def _replace_entry(tree: CstNode, name: str | int, new: CstEntry) -> CstNode:
    index = find_entry_index(tree, name)
    return tree._replace(entries=(*tree.entries[:index], new, *tree.entries[index + 1 :]))


def remove_entry(tree: CstNode, path: Path) -> tuple[CstNode, tuple[str, ...]]:
    """Return ``tree`` without an entry, or the mapping that would be empty, and the comments of that
    mapping."""
    parent = path[:-1]
    parent_entry = _get_entry(tree, parent)
    if len(parent_entry.value.entries) == 1 and isinstance(parent[-1], str):
        tree, comments = remove_entry(tree, parent)
        removed_comments = (
            *parent_entry.comments_above,
            parent_entry.line_comment,
            *parent_entry.value.leading_comments,
            *parent_entry.value.trailing_comments,
            *parent_entry.comments_below,
        )
        return tree, (*comments, *(line for line in removed_comments if line))
    index = find_entry_index(parent_entry.value, path[-1])
    remaining_entries = (*parent_entry.value.entries[:index], *parent_entry.value.entries[index + 1 :])
    return change_at(tree, parent, lambda below: below._replace(entries=remaining_entries)), ()


def _append_entry(tree: CstNode, path: Path, new: CstEntry) -> CstNode:
    """Return ``tree`` with an entry appended to the mapping at ``path``, which is created if necessary."""
    depth = 0
    current_tree = tree
    while depth < len(path) - 1:
        try:
            current_tree = current_tree.entries[find_entry_index(current_tree, path[depth])].value
        except LookupError:
            break
        depth += 1
    if current_tree.node_type != "map":
        raise FixRefused(f"{path[depth - 1]} is no mapping of its own")
    for step in reversed(path[depth:-1]):
        new = build_field(str(step), CstNode("map", -1, -1, entries=(new,)))
    return change_at(tree, path[:depth], lambda below: below._replace(entries=(*below.entries, new)))
