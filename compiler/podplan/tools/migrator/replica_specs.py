"""Building blocks for a dialect with replicaSpecs, on the tree of a text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from podplan.core.typing import Any
from podplan.tools.formatter.rewriting import build_field, build_scalar, find_entry_index
from podplan.yaml.edits.changes import FixRefused
from podplan.yaml.tree import CstEntry, CstNode

_COMMENTED_FIELD = re.compile(r"#+ *[A-Za-z]\w*:(?: |$)")


def reject_new_fields(data: dict[str, Any], new_fields: Sequence[str]) -> None:
    """Raise FixRefused: if a spec in the old dialect also has a field of the new one."""
    mixed = [name for name in new_fields if data.get(name) is not None]
    if mixed:
        raise FixRefused(f"it has {mixed[0]} of the other dialect beside what it would become")


def require_written(mapping: CstNode, names: Sequence[str]) -> None:
    """Raise FixRefused: if a field of the data is not in the text of the mapping."""
    if not set(names) <= set(map(get_key_name, mapping.entries)):
        raise FixRefused("it comes through an alias or a merge key")


def find_own_mapping(mapping: CstNode, name: str) -> CstEntry:
    """Return a field that is a mapping. Raises FixRefused: if other parts of the text may refer to it."""
    require_written(mapping, [name])
    leaf = mapping.entries[find_entry_index(mapping, name)]
    if leaf.value.node_type != "map" or leaf.value.prefix:
        raise FixRefused(
            f"{name} is no mapping of its own" if leaf.value.node_type != "map" else f"{name} has an anchor"
        )
    return leaf


def separate_comments(spec: CstNode, old_fields: Sequence[str]) -> tuple[CstNode, tuple[str, ...]]:
    """Return a spec whose first old field has only the comments that are about it, and the others.

    Commented-out YAML is not about the entry below.
    """
    first = _find_first_index(spec, old_fields)
    leaf = spec.entries[first]
    comments = leaf.comments_above
    kept = (
        comments if any(map(_COMMENTED_FIELD.match, comments)) else ("",) if "" in comments and first else ()
    )
    own = () if kept == comments else tuple(line for line in comments if line)
    entries = (*spec.entries[:first], leaf._replace(comments_above=own), *spec.entries[first + 1 :])
    return spec._replace(entries=entries), kept


def replace_fields(
    spec: CstNode, old_fields: Sequence[str], new: Sequence[CstEntry], comments_above: tuple[str, ...]
) -> CstNode:
    """Return a spec with new fields where the first of the old ones is, below ``comments_above``."""
    first = _find_first_index(spec, old_fields)
    entries = list(spec.entries[:first])
    entries += [new[0]._replace(comments_above=comments_above), *new[1:]]
    entries += [leaf for leaf in spec.entries[first:] if get_key_name(leaf) not in old_fields]
    return spec._replace(entries=tuple(entries))


def build_replica_spec(
    type_: str, fields: Sequence[CstEntry], old: CstEntry | None = None, closing: tuple[str, ...] = ()
) -> CstEntry:
    """Build an entry of replicaSpecs; ``old`` is the field that it replaces, whose comments it gets."""
    comments = (*old.comments_above, old.line_comment, *old.value.leading_comments) if old is not None else ()
    mapping = build_mapping(build_field("type", build_scalar(type_)), *fields)
    return CstEntry(
        None,
        mapping._replace(trailing_comments=closing),
        -1,
        comments_above=tuple(line for line in comments if line),
    )


def build_mapping(*entries: CstEntry, is_flow: bool = False) -> CstNode:
    """Build a new mapping."""
    return CstNode("map", -1, -1, entries=entries, is_flow=is_flow)


def build_list(*entries: CstEntry | CstNode) -> CstNode:
    """Build a new list of values, or of entries with comments."""
    return CstNode(
        "list",
        -1,
        -1,
        entries=tuple(one if isinstance(one, CstEntry) else CstEntry(None, one, -1) for one in entries),
    )


def get_key_name(leaf: CstEntry) -> str:
    """Return the name of a field, or "" for an entry of a list."""
    return leaf.key.value if leaf.key is not None else ""


def _find_first_index(spec: CstNode, names: Sequence[str]) -> int:
    return min(index for index, leaf in enumerate(spec.entries) if get_key_name(leaf) in names)
