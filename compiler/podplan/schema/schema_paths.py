"""Places in a JSON Schema: what stands there, with references followed, and what it is for."""

from __future__ import annotations

from itertools import pairwise

from podplan.core.findings import Path
from podplan.core.typing import Any

Schema = dict[str, Any]


def node_at(schema: Schema, place: Path) -> Schema:
    """The part of a schema at ``place``; empty where that is no mapping."""
    node: Any = schema
    for step in place:
        node = _below(node, step)
    return node if isinstance(node, dict) else {}


def followed(schema: Schema, field: Any) -> Schema:
    """A field's schema with its reference resolved; what stands beside the reference wins."""
    if not isinstance(field, dict):
        return {}
    return {**_referred(schema, field["$ref"]), **field} if "$ref" in field else field


def about_field(schema: Schema, way: Path) -> str:
    """What a field is for: the first description on the way through the schema since the key of the field.

    The way follows references and ends with a keyword; the text is one to put behind a colon.
    """
    node: Any = schema
    about = ""
    for before, step in pairwise(("", *way[:-1])):
        node = _referred(schema, node["$ref"]) if step == "$ref" else _below(node, step)
        if before == "properties" or step in ("items", "additionalProperties"):
            about = ""
        about = about or (node.get("description", "") if isinstance(node, dict) else "")
    return about[:1].lower() + about[1:].rstrip(".")


def _below(node: Any, step: str | int) -> Any:
    if isinstance(node, list):
        return node[int(step)]
    return node.get(step, {}) if isinstance(node, dict) else {}


def _referred(schema: Schema, reference: str) -> Schema:
    return node_at(schema, tuple(reference.removeprefix("#/").split("/")))
