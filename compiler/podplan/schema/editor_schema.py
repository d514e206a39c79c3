"""A schema as editors understand it best: the same documents are valid, with choices in place of conditions.

The YAML language server proposes what stands under ``anyOf``, whatever is written so far; of ``if`` it looks
at one branch only, and an empty value decides for the wrong one (tried with yaml-language-server 1.25).
"""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.typing import Any


def to_editor_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """``schema`` with conditions as ``anyOf``, and without the description that would hide others."""
    editor_schema: dict[str, Any] = _replace_conditions(schema)
    deferred = editor_schema.get("$defs", {}).get("deferred", {})
    deferred.pop("description", None)  # an editor would show it in the place of the field's own
    return editor_schema


def _replace_conditions(node: Any) -> Any:
    if isinstance(node, list):
        return [_replace_conditions(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    converted = {key: _replace_conditions(below) for key, below in node.items()}
    if not isinstance(node.get("if"), dict) or "anyOf" in node:
        return converted
    if "then" not in node:  # valid is what meets the condition, and what meets the rest
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
