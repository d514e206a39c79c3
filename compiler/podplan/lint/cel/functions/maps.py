"""What transformMap and transformMapEntry expand to, which the evaluator lacks."""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.lint.cel.functions import Overload


def _insert_entry(entries: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    if key in entries:
        raise ValueError("two entries of a map have the same key")
    return {**entries, key: value}


def _insert_entries(entries: dict[Any, Any], new_entries: dict[Any, Any]) -> dict[Any, Any]:
    for key, value in new_entries.items():
        entries = _insert_entry(entries, key, value)
    return entries


OVERLOADS = (
    Overload("cel.@mapInsert", ("map", "any", "any"), "map", _insert_entry),
    Overload("cel.@mapInsert", ("map", "map"), "map", _insert_entries),
)
