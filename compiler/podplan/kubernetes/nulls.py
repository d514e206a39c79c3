"""Nulls as the API server reads them: a null field is not written, a null entry is the zero of its type."""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.kubernetes.schemas import Schema, resolve


def without_null_fields(value: Any) -> Any:
    """Plain data without the nulls in its mappings, as in a CR; those that are entries of a list stay."""
    if isinstance(value, dict):
        return {key: without_null_fields(below) for key, below in value.items() if below is not None}
    return [without_null_fields(entry) for entry in value] if isinstance(value, list) else value


def without_nulls(schema: Schema, value: Any, version: str) -> Any:
    """An object of Kubernetes without its nulls: fields are left out, entries are the zero of their type.

    ``schema`` says of which type an entry of a list or a map is, with the definitions of ``version``.
    """
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
