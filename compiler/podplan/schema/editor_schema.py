"""Rewrites a schema for editors: the same documents are valid, with choices instead of conditions.

The YAML language server proposes everything under ``anyOf``, whatever is written so far; of ``if`` it uses
only one branch, and an empty value selects the wrong one (tested with yaml-language-server 1.25).
"""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.typing import Any


def to_editor_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``schema`` with conditions as ``anyOf``, and without descriptions that would hide others."""
    editor_schema: dict[str, Any] = _replace_conditions(schema)
    deferred = editor_schema.get("$defs", {}).get("deferred", {})
    deferred.pop("description", None)  # an editor would show it instead of the description of the field
    return editor_schema


def _replace_conditions(node: Any) -> Any:
    if isinstance(node, list):
        return [_replace_conditions(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    converted = {key: _replace_conditions(below) for key, below in node.items()}
    if not isinstance(node.get("if"), dict) or "anyOf" in node:
        return converted
    if "then" not in node:  # a value is valid if it meets the condition, or the rest
        condition, rest = converted.pop("if"), converted.pop("else", {})
        return {**converted, "anyOf": [rest, condition]}
    if set(node["if"]) == {"type"}:
        condition, then_schema, else_schema = (
            converted.pop("if"),
            converted.pop("then"),
            converted.pop("else", {}),
        )
        return {
            **converted,
            "anyOf": [
                _combine_schemas(condition, then_schema),
                _combine_schemas({"not": condition}, else_schema),
            ],
        }
    return converted


def _combine_schemas(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, **other} if not one.keys() & other.keys() else {"allOf": [one, other]}
