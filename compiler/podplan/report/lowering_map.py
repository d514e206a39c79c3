"""The effect of each field on lowered objects, from the table that tools/lowered_fields.py generates."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache

from podplan.core import package_data
from podplan.core.provenance import Behavior
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.lowering_options import iter_behaviors as known_facts
from podplan.kinds.registry import KINDS_BY_NAME, load_spec

_CAMEL_CASE = re.compile("[a-z]+[A-Z]")  # a name that is no English word


class LoweredField(NamedTuple):
    """A part of a CR or of a lowered object that a field sets, and the behaviors involved."""

    kind: str
    path: str
    behaviors: tuple[Behavior, ...] = ()


class FieldLowering(NamedTuple):
    """The effect of a field.

    ``default_behaviors`` apply if the field is missing; ``mentioning_behaviors`` name the field.
    """

    lowered_fields: tuple[LoweredField, ...] = ()
    default_behaviors: tuple[Behavior, ...] = ()
    mentioning_behaviors: tuple[Behavior, ...] = ()


def find_field_lowering(kind: str, path: str) -> FieldLowering:
    """Return the effect of the field at ``path`` (dots, without brackets) of a profile or CR of ``kind``."""
    rows = _load_table().get(kind, {})
    row = rows.get(path, {})
    direct_fields = [
        LoweredField(to_kind, to, _resolve_behaviors(ids)) for to_kind, to, ids in row.get("becomes", ())
    ]
    lowered_fields = direct_fields or _find_through_parent(rows, path)
    used_ids = {fact.id for part in lowered_fields for fact in part.behaviors}
    default_behaviors = tuple(
        fact for fact in _resolve_behaviors(row.get("otherwise", ())) if fact.id not in used_ids
    )
    known_ids = used_ids | {fact.id for fact in default_behaviors}
    return FieldLowering(
        _drop_implied_fields(lowered_fields),
        default_behaviors,
        _find_mentioning_behaviors(kind, path.rpartition(".")[2], known_ids),
    )


def _find_through_parent(rows: Mapping[str, Any], path: str) -> list[LoweredField]:
    """Return the parts that a field sets because a field above it is copied as a whole."""
    parent, _, subpath = path.rpartition(".")
    while "." in parent:
        copied = (part for part in rows.get(parent, {}).get("becomes", ()) if not part[2])
        name = parent.rpartition(".")[2]
        same_name = (
            (to_kind, to) for to_kind, to, _ in copied if _strip_brackets(to).rpartition(".")[2] == name
        )
        parts = [LoweredField(to_kind, f"{to}.{subpath}") for to_kind, to in same_name]
        if parts:
            return parts
        parent, _, step = parent.rpartition(".")
        subpath = f"{step}.{subpath}"
    return []


def _drop_implied_fields(lowered_fields: Iterable[LoweredField]) -> tuple[LoweredField, ...]:
    """Drop parts that are implied by others below them."""
    kept_fields: list[LoweredField] = []
    for part in lowered_fields:
        parent_paths = (one.path for one in kept_fields if one.kind == part.kind)
        if part.behaviors or not any(part.path.startswith((f"{path}.", f"{path}[")) for path in parent_paths):
            kept_fields.append(part)
    return tuple(kept_fields)


def _find_mentioning_behaviors(kind: str, name: str, known_ids: set[str]) -> tuple[Behavior, ...]:
    """Return the behaviors that mention a field of this name."""
    if not _CAMEL_CASE.match(name):
        return ()
    word = re.compile(rf"\b{re.escape(name)}\b")
    return tuple(
        fact
        for fact in _load_behaviors().values()
        if word.search(fact.text)
        and fact.id not in known_ids
        and _map_prefixes().get(fact.id.partition(".")[0], kind) == kind
    )


def _resolve_behaviors(ids: Iterable[str]) -> tuple[Behavior, ...]:
    return tuple(_load_behaviors()[one] for one in ids if one in _load_behaviors())


@cache
def _map_prefixes() -> dict[str, str]:
    """Map the first word of behavior ids that only one kind has to the name of the kind."""
    return {load_spec(kind).option_prefix: name for name, kind in KINDS_BY_NAME.items()}


@cache
def _load_behaviors() -> dict[str, Behavior]:
    return {fact.id: fact for fact in known_facts()}


@cache
def _load_table() -> dict[str, dict[str, Any]]:
    """Load the table, with its fields without brackets."""
    table: dict[str, dict[str, Any]] = {}
    for kind, rows in json.loads(package_data.read_bundled_file("schemas", "lowered-fields.json")).items():
        for field, row in rows.items():
            merged_row = table.setdefault(kind, {}).setdefault(_strip_brackets(field), {})
            for key, entries in row.items():
                merged_row[key] = [
                    *merged_row.get(key, ()),
                    *(one for one in entries if one not in merged_row.get(key, ())),
                ]
    return table


def _strip_brackets(path: str) -> str:
    return path.replace("[]", "")
