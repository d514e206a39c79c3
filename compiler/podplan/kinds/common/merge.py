"""Merging of traced trees: by the merge keys of Kubernetes, and as RFC 7386 merge patches."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from podplan.core.provenance import Cursor, Traced, attribute_to, copy_traced
from podplan.core.typing import Any
from podplan.kubernetes.list_keys import MERGE_KEYS

TracedTree = Any  # a traced tree: dict, list, Cursor or Traced

_KEY_DEFAULTS = {"protocol": "TCP"}


def merge_tree(base: TracedTree, overlay: Cursor, field: str = "") -> TracedTree:
    """Merge the value at ``overlay`` over ``base``.

    Mappings merge; lists whose ``field`` has a merge key merge by it, in the order of the base; anything else
    is replaced; null deletes.
    """
    if not overlay.exists:
        return base
    base_value = unwrap_tree(base)
    if isinstance(base_value, dict) and isinstance(overlay.value, dict):
        return rewrap_tree(base, _merge_maps(base_value, overlay))
    if isinstance(base_value, list) and isinstance(overlay.value, list) and field in MERGE_KEYS:
        merged_list = _merge_lists(base_value, overlay, MERGE_KEYS[field])
        if merged_list is not None:
            return rewrap_tree(base, merged_list)
    return _replace_tree(base, overlay)


def apply_patches(base: TracedTree, patches: Iterable[Cursor]) -> TracedTree:
    """Apply RFC 7386 merge patches to ``base`` in order: mappings merge, null deletes, other values replace.

    Patches of one mapping are applied together, so that it is copied once instead of once per patch.
    """
    for are_mappings, same_type_patches in groupby(patches, lambda patch: isinstance(patch.value, dict)):
        if are_mappings:
            map_patches = list(same_type_patches)
            base_value = unwrap_tree(base)
            if not isinstance(base_value, dict):
                base = _replace_tree(base, map_patches.pop(0))
                base_value = unwrap_tree(base)
            if map_patches:
                base = rewrap_tree(base, _patch_map(base_value, map_patches))
        else:
            for patch in same_type_patches:
                base = _replace_tree(base, patch)
    return base


def has_unique_merge_keys(field: str, entries: list[Any]) -> bool:
    """Whether the entries of the list ``field`` have distinct merge keys."""
    entry_keys = [_find_merge_key(entry, MERGE_KEYS[field]) for entry in entries]
    return None not in entry_keys and len(set(entry_keys)) == len(entry_keys)


def drop_nulls(cursor: Cursor) -> TracedTree:
    """Return the value at ``cursor`` without the null entries of its mappings: a null counts as absent."""
    if cursor.value is None:  # an entry of a list
        return attribute_to(cursor, None)
    if not _contains_null(cursor.value):
        return cursor
    if isinstance(cursor.value, dict):
        return attribute_to(cursor, {key: drop_nulls(below) for key, below in cursor.fields().items()})
    return attribute_to(cursor, [drop_nulls(entry) for entry in cursor.entries()])


def list_entries(tree: TracedTree) -> list[TracedTree]:
    """Return the entries of a traced list; none if there is no list."""
    entries = unwrap_tree(tree)
    return entries if isinstance(entries, list) else []


def to_plain_data(tree: TracedTree) -> Any:
    """Return the plain data of a traced tree."""
    if isinstance(tree, Cursor):
        return tree.value
    if isinstance(tree, Traced):
        return to_plain_data(tree.value)
    if isinstance(tree, dict):
        return {key: to_plain_data(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [to_plain_data(value) for value in tree]
    return tree


def unwrap_tree(tree: TracedTree) -> TracedTree:
    """Return the mapping or list of a traced tree, one level deep; any other value unchanged."""
    if isinstance(tree, Traced):
        return (
            unwrap_tree(_find_copied_cursor(tree))
            if tree.origin.derivation == "copied"
            else unwrap_tree(tree.value)
        )
    if isinstance(tree, Cursor):
        if isinstance(tree.value, dict):
            return dict(tree.fields())
        return tree.entries() if isinstance(tree.value, list) else tree
    return tree


def order_keys(
    tree: dict[str, TracedTree], first_keys: tuple[str, ...], last_keys: tuple[str, ...] = ()
) -> dict[str, TracedTree]:
    """Return ``tree`` with ``first_keys`` first and ``last_keys`` last, each in the order given."""
    middle = [key for key in tree if key not in first_keys and key not in last_keys]
    return {key: tree[key] for key in (*first_keys, *middle, *last_keys) if key in tree}


def drop_absent(tree: dict[str, TracedTree]) -> dict[str, TracedTree]:
    """Return ``tree`` without absent values: None, and cursors at missing fields."""
    return {
        key: value
        for key, value in tree.items()
        if value is not None and not (isinstance(value, Cursor) and not value.exists)
    }


def _merge_maps(base_map: dict[str, TracedTree], overlay: Cursor) -> dict[str, TracedTree]:
    result = dict(base_map)
    for key, value in overlay.value.items():
        entry = overlay.get(key)
        if value is None:
            result.pop(key, None)
        elif key in result:
            result[key] = merge_tree(result[key], entry, key)
        else:
            result[key] = drop_nulls(entry)
    return result


def _patch_map(base_map: dict[str, TracedTree], patches: list[Cursor]) -> dict[str, TracedTree]:
    result = dict(base_map)
    patches_by_key: dict[str, list[Cursor]] = {}  # the values of the patches for an existing key
    for patch in patches:
        for key, value in patch.value.items():
            if value is None:
                result.pop(key, None)
                patches_by_key.pop(key, None)
            elif key in result:
                patches_by_key.setdefault(key, []).append(patch.get(key))
            else:
                result[key] = drop_nulls(patch.get(key))
    for key, entries in patches_by_key.items():
        result[key] = apply_patches(result[key], entries)
    return result


def _merge_lists(
    base_list: list[TracedTree], overlay: Cursor, key_fields: tuple[str, ...]
) -> list[TracedTree] | None:
    """Merge two lists by key; None if an entry has no key, or two have the same."""
    base_keys = [_find_merge_key(to_plain_data(entry), key_fields) for entry in base_list]
    overlay_entries = {_find_merge_key(entry.value, key_fields): entry for entry in overlay.entries()}
    known_keys = set(base_keys)
    if (
        None in known_keys
        or None in overlay_entries
        or len(known_keys) < len(base_keys)
        or len(overlay_entries) < len(overlay.value)
    ):
        return None
    merged_entries = [
        merge_tree(entry, overlay_entries[key]) if key in overlay_entries else entry
        for key, entry in zip(base_keys, base_list, strict=True)
    ]
    return [
        *merged_entries,
        *(drop_nulls(entry) for key, entry in overlay_entries.items() if key not in known_keys),
    ]


def _find_merge_key(entry: Any, key_fields: tuple[str, ...]) -> tuple[str, ...] | None:
    if not isinstance(entry, dict) or entry.get(key_fields[0]) is None:
        return None
    return tuple(str(entry.get(key) or _KEY_DEFAULTS.get(key, "")) for key in key_fields)


def rewrap_tree(base: TracedTree, value: TracedTree) -> TracedTree:
    """Return ``value`` with the origin of ``base``."""
    if isinstance(base, Cursor):
        return attribute_to(base, value)
    if isinstance(base, Traced):
        return (
            attribute_to(_find_copied_cursor(base), value)
            if base.origin.derivation == "copied"
            else base._replace(value=value)
        )
    return value


def _replace_tree(base: TracedTree, overlay: Cursor) -> TracedTree:
    new_value = drop_nulls(overlay)
    replaced_cursors = _find_cursors(base)
    if isinstance(new_value, Cursor):
        return copy_traced(new_value, overridden=replaced_cursors) if replaced_cursors else new_value
    return new_value._replace(
        origin=new_value.origin._replace(overridden=tuple(c.document_path for c in replaced_cursors))
    )


def _find_cursors(tree: TracedTree) -> tuple[Cursor, ...]:
    if isinstance(tree, Cursor):
        return (tree,)
    if isinstance(tree, Traced):
        return tuple(Cursor(place.doc, place.path, to_plain_data(tree)) for place in tree.origin.sources[:1])
    return ()


def _find_copied_cursor(traced: Traced) -> Cursor:
    place = traced.origin.sources[0]
    return Cursor(place.doc, place.path, traced.value)


def _contains_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(entry is None or _contains_null(entry) for entry in value.values())
    return isinstance(value, list) and any(map(_contains_null, value))
