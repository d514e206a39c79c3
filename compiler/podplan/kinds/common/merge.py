"""Marked trees laid over each other: by the merge keys of Kubernetes, and as RFC 7386 patches.

The merge keys are those of the strategic merge patch (``x-kubernetes-patch-merge-key`` and, for ports,
``x-kubernetes-list-map-keys`` of the Kubernetes OpenAPI document).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from podplan.core.provenance import Cursor, Marked, at, copied
from podplan.core.typing import Any

Tree = Any  # a marked tree: dict, list, Cursor, Marked

MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "ports": ("containerPort", "protocol"),
}
_KEY_DEFAULTS = {"protocol": "TCP"}


def merged(base: Tree, over: Cursor, field: str = "") -> Tree:
    """``base`` with what is written at ``over`` laid over it.

    Maps merge; lists whose ``field`` has a merge key merge by it, in base order; anything else is
    replaced; null deletes.
    """
    if not over.exists:
        return base
    below = opened(base)
    if isinstance(below, dict) and isinstance(over.value, dict):
        return rewrapped(base, _merged_maps(below, over))
    if isinstance(below, list) and isinstance(over.value, list) and field in MERGE_KEYS:
        lists = _merged_lists(below, over, MERGE_KEYS[field])
        if lists is not None:
            return rewrapped(base, lists)
    return _replaced(base, over)


def patched(base: Tree, patches: Iterable[Cursor]) -> Tree:
    """``base`` with RFC 7386 merge patches applied, one after the other: maps merge, null deletes, and
    anything else, such as a list, is replaced whole.

    Patches of one map are gone through together: it is copied once, and not for each of thousands.
    """
    for are_maps, those in groupby(patches, lambda patch: isinstance(patch.value, dict)):
        if are_maps:
            maps = list(those)
            below = opened(base)
            if not isinstance(below, dict):
                base = _replaced(base, maps.pop(0))
                below = opened(base)
            if maps:
                base = rewrapped(base, _patched_map(below, maps))
        else:
            for patch in those:
                base = _replaced(base, patch)
    return base


def mergeable(field: str, entries: list[Any]) -> bool:
    """Whether the entries of the list ``field`` can be told apart by its merge key."""
    keys = [_key(entry, MERGE_KEYS[field]) for entry in entries]
    return None not in keys and len(set(keys)) == len(keys)


def without_nulls(cursor: Cursor) -> Tree:
    """What is at ``cursor``, less the null entries of its maps: a null counts as not written."""
    if cursor.value is None:  # an entry of a list
        return at(cursor, None)
    if not _holds_null(cursor.value):
        return cursor
    if isinstance(cursor.value, dict):
        return at(cursor, {key: without_nulls(below) for key, below in cursor.fields().items()})
    return at(cursor, [without_nulls(entry) for entry in cursor.entries()])


def plain(tree: Tree) -> Any:
    """The data of a marked tree."""
    if isinstance(tree, Cursor):
        return tree.value
    if isinstance(tree, Marked):
        return plain(tree.value)
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [plain(value) for value in tree]
    return tree


def opened(tree: Tree) -> Tree:
    """The map or list that a marked tree is, one level down; anything else as it is."""
    if isinstance(tree, Marked):
        return opened(_source(tree)) if tree.origin.how == "copied" else opened(tree.value)
    if isinstance(tree, Cursor):
        if isinstance(tree.value, dict):
            return dict(tree.fields())
        return tree.entries() if isinstance(tree.value, list) else tree
    return tree


def ordered(tree: dict[str, Tree], first: tuple[str, ...], last: tuple[str, ...] = ()) -> dict[str, Tree]:
    """``tree`` with the keys ``first`` in front and ``last`` at the end, each in the order given."""
    middle = [key for key in tree if key not in first and key not in last]
    return {key: tree[key] for key in (*first, *middle, *last) if key in tree}


def present(tree: dict[str, Tree]) -> dict[str, Tree]:
    """``tree`` without what is not written: None, and cursors at nothing."""
    return {
        key: value
        for key, value in tree.items()
        if value is not None and not (isinstance(value, Cursor) and not value.exists)
    }


def _merged_maps(below: dict[str, Tree], over: Cursor) -> dict[str, Tree]:
    result = dict(below)
    for key, value in over.value.items():
        entry = over.get(key)
        if value is None:
            result.pop(key, None)
        elif key in result:
            result[key] = merged(result[key], entry, key)
        else:
            result[key] = without_nulls(entry)
    return result


def _patched_map(below: dict[str, Tree], patches: list[Cursor]) -> dict[str, Tree]:
    result = dict(below)
    later: dict[str, list[Cursor]] = {}  # what patches say about a key that is there
    for patch in patches:
        for key, value in patch.value.items():
            if value is None:
                result.pop(key, None)
                later.pop(key, None)
            elif key in result:
                later.setdefault(key, []).append(patch.get(key))
            else:
                result[key] = without_nulls(patch.get(key))
    for key, entries in later.items():
        result[key] = patched(result[key], entries)
    return result


def _merged_lists(below: list[Tree], over: Cursor, keys: tuple[str, ...]) -> list[Tree] | None:
    """Both lists by key; None where an entry has no key, or two have the same."""
    mine = [_key(plain(entry), keys) for entry in below]
    theirs = {_key(entry.value, keys): entry for entry in over.entries()}
    known = set(mine)
    if None in known or None in theirs or len(known) < len(mine) or len(theirs) < len(over.value):
        return None
    kept = [
        merged(entry, theirs[key]) if key in theirs else entry for key, entry in zip(mine, below, strict=True)
    ]
    return [*kept, *(without_nulls(entry) for key, entry in theirs.items() if key not in known)]


def _key(entry: Any, keys: tuple[str, ...]) -> tuple[str, ...] | None:
    if not isinstance(entry, dict) or entry.get(keys[0]) is None:
        return None
    return tuple(str(entry.get(key) or _KEY_DEFAULTS.get(key, "")) for key in keys)


def rewrapped(base: Tree, value: Tree) -> Tree:
    """``value`` under the mark that ``base`` has."""
    if isinstance(base, Cursor):
        return at(base, value)
    if isinstance(base, Marked):
        return at(_source(base), value) if base.origin.how == "copied" else base._replace(value=value)
    return value


def _replaced(base: Tree, over: Cursor) -> Tree:
    fresh = without_nulls(over)
    losers = _cursors(base)
    if isinstance(fresh, Cursor):
        return copied(fresh, over=losers) if losers else fresh
    return fresh._replace(origin=fresh.origin._replace(overrides=tuple(c.place for c in losers)))


def _cursors(tree: Tree) -> tuple[Cursor, ...]:
    if isinstance(tree, Cursor):
        return (tree,)
    if isinstance(tree, Marked):
        return tuple(Cursor(place.doc, place.path, plain(tree)) for place in tree.origin.places[:1])
    return ()


def _source(copy: Marked) -> Cursor:
    place = copy.origin.places[0]
    return Cursor(place.doc, place.path, copy.value)


def _holds_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(entry is None or _holds_null(entry) for entry in value.values())
    return isinstance(value, list) and any(map(_holds_null, value))
