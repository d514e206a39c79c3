"""A schema as editors understand it best: the same documents are valid, with choices in place of conditions.

The YAML language server proposes what stands under ``anyOf``, whatever is written so far; of ``if`` it looks
at one branch only, and an empty value decides for the wrong one (tried with yaml-language-server 1.25).
"""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.typing import Any


def with_choices(schema: Mapping[str, Any]) -> dict[str, Any]:
    """``schema`` with conditions as ``anyOf``, and without the description that would hide others."""
    changed: dict[str, Any] = _changed(schema)
    deferred = changed.get("$defs", {}).get("deferred", {})
    deferred.pop("description", None)  # an editor would show it in the place of the field's own
    return changed


def _changed(node: Any) -> Any:
    if isinstance(node, list):
        return [_changed(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    new = {key: _changed(below) for key, below in node.items()}
    if not isinstance(node.get("if"), dict) or "anyOf" in node:
        return new
    if "then" not in node:  # valid is what meets the condition, and what meets the rest
        condition, rest = new.pop("if"), new.pop("else", {})
        return {**new, "anyOf": [rest, condition]}
    if set(node["if"]) == {"type"}:
        condition, yes, no = new.pop("if"), new.pop("then"), new.pop("else", {})
        return {**new, "anyOf": [_both(condition, yes), _both({"not": condition}, no)]}
    return new


def _both(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, **other} if not one.keys() & other.keys() else {"allOf": [one, other]}
