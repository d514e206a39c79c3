"""Places in a JSON Schema: what stands there, with references followed, and what it is for."""

from __future__ import annotations

from itertools import pairwise

from podplan.core.findings import Path
from podplan.core.typing import Any

Schema = dict[str, Any]


def find_node(schema: Schema, path: Path) -> Schema:
    """The part of a schema at ``place``; empty where that is no mapping."""
    node: Any = schema
    for step in path:
        node = _get_child(node, step)
    return node if isinstance(node, dict) else {}


def follow_reference(schema: Schema, field: Any) -> Schema:
    """A field's schema with its reference resolved; what stands beside the reference wins."""
    if not isinstance(field, dict):
        return {}
    return {**_resolve_reference(schema, field["$ref"]), **field} if "$ref" in field else field


def describe_field(schema: Schema, evaluation_path: Path) -> str:
    """What a field is for: the first description on the way through the schema since the key of the field.

    The way follows references and ends with a keyword; the text is one to put behind a colon.
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
