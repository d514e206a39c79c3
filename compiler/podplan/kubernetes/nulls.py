"""Nulls as the API server reads them: a null field is missing, a null entry is the zero value of its type."""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.kubernetes.schemas import Schema, resolve_reference


def remove_null_fields(value: Any) -> Any:
    """Return plain data without nulls in mappings, as in a CR; null entries of lists stay."""
    if isinstance(value, dict):
        return {key: remove_null_fields(below) for key, below in value.items() if below is not None}
    return [remove_null_fields(entry) for entry in value] if isinstance(value, list) else value


def remove_nulls(schema: Schema, value: Any, version: str) -> Any:
    """Return an object of Kubernetes without nulls: fields are removed, entries become the zero value of
    their type.

    ``schema`` has the type of an entry of a list or a mapping, with the definitions of ``version``.
    """
    schema = resolve_reference(schema, version)
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        others = schema.get("additionalProperties")
        present = {}
        for key, child in value.items():
            child_schema = fields.get(key) or (others if isinstance(others, dict) else {})
            if child is not None:
                present[key] = remove_nulls(child_schema, child, version)
            elif key not in fields and isinstance(others, dict):
                present[key] = _zero_value(child_schema, version)
        return present
    if isinstance(value, list):
        child_schema = schema.get("items", {})
        return [
            _zero_value(child_schema, version)
            if entry is None
            else remove_nulls(child_schema, entry, version)
            for entry in value
        ]
    return value


def _zero_value(schema: Schema, version: str) -> object:
    declared_type = resolve_reference(schema, version).get("type", "string")
    name = declared_type if isinstance(declared_type, str) else declared_type[-1]
    return {"object": {}, "array": [], "string": "", "boolean": False}.get(name, 0)
