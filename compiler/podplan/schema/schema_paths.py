"""Paths in a JSON Schema: the part at a path, with references followed, and its description."""

from __future__ import annotations

from itertools import pairwise

from podplan.core.findings import Path
from podplan.core.typing import Any

Schema = dict[str, Any]


def find_node(schema: Schema, path: Path) -> Schema:
    """Return the part of a schema at ``path``; empty if that is no mapping."""
    node: Any = schema
    for step in path:
        node = _get_child(node, step)
    return node if isinstance(node, dict) else {}


def follow_reference(schema: Schema, field: Any) -> Schema:
    """Return the schema of a field with its reference resolved; keywords next to the reference take
    precedence."""
    if not isinstance(field, dict):
        return {}
    return {**_resolve_reference(schema, field["$ref"]), **field} if "$ref" in field else field


def describe_field(schema: Schema, evaluation_path: Path) -> str:
    """Return the first description on the path through the schema since the key of the field.

    The path follows references and ends with a keyword; the text is meant to follow a colon.
    """
    node: Any = schema
    description = ""
    for previous_step, step in pairwise(("", *evaluation_path[:-1])):
        node = _resolve_reference(schema, node["$ref"]) if step == "$ref" else _get_child(node, step)
        if previous_step == "properties" or step in ("items", "additionalProperties"):
            description = ""
        description = description or (node.get("description", "") if isinstance(node, dict) else "")
    return description[:1].lower() + description[1:].rstrip(".")


def _get_child(node: Any, step: str | int) -> Any:
    if isinstance(node, list):
        return node[int(step)]
    return node.get(step, {}) if isinstance(node, dict) else {}


def _resolve_reference(schema: Schema, reference: str) -> Schema:
    return find_node(schema, tuple(reference.removeprefix("#/").split("/")))
