"""Nulls as the API server reads them: those that it takes for not written, and those that become a value."""

from __future__ import annotations

from podplan.kubernetes.schemas import Schema, resolve
from podplan.typing import Any


def without_nulls(schema: Schema, value: Any, version: str) -> Any:
    """``value`` as the API server reads it: a null field is left out, a null entry is its type's zero."""
    schema = resolve(schema, version)
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        others = schema.get("additionalProperties")
        kept = {}
        for key, inner in value.items():
            below = fields.get(key) or (others if isinstance(others, dict) else {})
            if inner is not None:
                kept[key] = without_nulls(below, inner, version)
            elif key not in fields and isinstance(others, dict):
                kept[key] = _zero(below, version)
        return kept
    if isinstance(value, list):
        below = schema.get("items", {})
        return [
            _zero(below, version) if entry is None else without_nulls(below, entry, version)
            for entry in value
        ]
    return value


def _zero(schema: Schema, version: str) -> object:
    wanted = resolve(schema, version).get("type", "string")
    name = wanted if isinstance(wanted, str) else wanted[-1]
    return {"object": {}, "array": [], "string": "", "boolean": False}.get(name, 0)
