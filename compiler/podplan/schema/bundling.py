"""The schemas of schemas/ put together: one self-contained JSON Schema (2020-12) out of several files.

What kinds share is in common.json, and a reference ``kubernetes:NAME`` stands for a definition of the
Kubernetes version in use.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache

from podplan.core import bundled
from podplan.core.typing import Any

Schema = dict[str, Any]

# What a validator sees in place of an object of Kubernetes: podplan.kubernetes checks those.
KUBERNETES_OBJECT = "x-podplan-kubernetes"
# The name there of a template that a controller completes.
PARTIAL_TEMPLATE = "PodTemplateSpec?partial"

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_HERE = "#/$defs/"
_COMMON = f"common.json{_HERE}"
_KUBERNETES = "kubernetes:"


@cache
def file(name: str) -> Schema:
    """The schema in schemas/``name``.json as it stands there. Raises FileNotFoundError."""
    schema: Schema = json.loads(bundled.read("schemas", f"{name}.json"))
    return schema


def any_dialect(kind: str, dialects: Mapping[str, tuple[str, ...]]) -> Schema:
    """One schema for all dialects of a kind: the fields of spec decide, else it is the first dialect."""
    first, *others = dialects
    document = file(f"{kind}.{first}")
    spec: Schema = document["properties"]["spec"]
    definitions = dict(document["$defs"])
    for name in others:
        other = file(f"{kind}.{name}")
        told = {"anyOf": [{"required": [field]} for field in dialects[name]]}
        spec = {
            "description": "What the job is to be.",
            "if": told,
            "then": other["properties"]["spec"],
            "else": spec,
        }
        definitions.update(other["$defs"])
    properties = {**document["properties"], "spec": spec}
    return {**document, "title": kind, "properties": properties, "$defs": definitions}


def list_of(kind: str, item: Schema | None = None) -> Schema:
    """The schema of the List of a kind, with ``item`` as the schema of its items, or any mapping."""
    items: Schema = {"$ref": f"{_HERE}{kind}"} if item else {"type": "object"}
    definitions = {**item["$defs"], kind: {key: item[key] for key in item if key[0] != "$"}} if item else {}
    return {
        "$schema": _DRAFT,
        "title": f"{kind}List",
        "description": f"Several objects of the kind {kind}.",
        "type": "object",
        "additionalProperties": False,
        "required": ["apiVersion", "kind", "items"],
        "properties": {
            "apiVersion": {"$ref": f"{_COMMON}ApiVersion"},
            "kind": {"description": "The kind of this object.", "const": f"{kind}List"},
            "metadata": {"description": "What the API server says about the list.", "type": "object"},
            "items": {"description": "The objects.", "type": "array", "items": items},
        },
        "$defs": definitions,
    }


def self_contained(schema: Schema, definition: Callable[[str], Schema] | None = None) -> Schema:
    """``schema`` with all that it refers to under its own ``$defs``.

    ``definition`` gives the definitions of Kubernetes by name; without it their place is taken by any
    mapping, marked with ``KUBERNETES_OBJECT``.
    """
    homes: dict[str, Callable[[str], Schema]] = {
        _HERE: lambda name: schema["$defs"][name],
        _COMMON: lambda name: file("common")["$defs"][name],
    }
    if definition is not None:
        homes[_KUBERNETES] = definition
    found: dict[str, Schema] = {}

    def embedded(node: Any, home: str) -> Any:
        if isinstance(node, list):
            return [embedded(entry, home) for entry in node]
        if not isinstance(node, dict):
            return node
        rest = {key: embedded(below, home) for key, below in node.items() if key not in ("$ref", "$defs")}
        reference = node.get("$ref")
        return {**referred(reference, home), **rest} if isinstance(reference, str) else rest

    def referred(reference: str, home: str) -> Schema:
        home = next((other for other in (_COMMON, _KUBERNETES) if reference.startswith(other)), home)
        name = reference.removeprefix(home).removeprefix(_HERE)
        if home not in homes:
            return {"type": "object", KUBERNETES_OBJECT: name}
        key = f"kubernetes.{name.replace('?', '.')}" if home == _KUBERNETES else name
        if key not in found:
            found[key] = {}
            found[key] = embedded(homes[home](name), home)
        return {"$ref": _HERE + key}

    return {**embedded(schema, _HERE), "$defs": found}
