"""Assembles the files in schemas/ to self-contained JSON Schemas (2020-12).

Definitions that kinds share are in common.json, and a reference ``kubernetes:NAME`` means a definition of the
selected Kubernetes version.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

from podplan.core import package_data
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kinds.registry import COMPILED_KINDS, KIND_NAMES, OPERATOR_VERSIONS, GroupVersionKind, load_spec

Schema = dict[str, Any]

# Marks a Kubernetes object, which the validator skips: podplan.kubernetes validates it.
KUBERNETES_KEYWORD = "x-podplan-kubernetes"
# The name for a template that a controller completes.
PARTIAL_TEMPLATE = "PodTemplateSpec?partial"
# The same where other parts of the document add to it, so that only its Pods can have all the rules of a Pod.
STRUCTURAL_TEMPLATE = "PodTemplateSpec?structure"

DRAFT_URI = "https://json-schema.org/draft/2020-12/schema"
_LOCAL_PREFIX = "#/$defs/"
_COMMON_PREFIX = f"common.json{_LOCAL_PREFIX}"
_SHARED_PREFIX = compile_lazily(r"([A-Za-z-]+)\.json#/\$defs/")
_KUBERNETES_PREFIX = "kubernetes:"


@cache
def load_schema_file(name: str) -> Schema:
    """Return the schema in schemas/``name``.json, with the names of all kinds.

    Raises FileNotFoundError: if it is missing.
    """
    schema: Schema = json.loads(package_data.read_bundled_file("schemas", f"{name}.json"))
    if name == "JobProfile":
        job = schema["$defs"]["spec"]["properties"]["job"]
        del job["enum"]
        long_names = "|".join(kind.qualified_name.replace(".", "[.]") for kind in COMPILED_KINDS.values())
        job |= {
            "if": {"type": "string", "pattern": f"^({long_names})$"},
            "then": {},
            "else": {"enum": list(COMPILED_KINDS)},
        }
    elif name == "Config":
        properties = schema["$defs"]["ofAllKinds"]["properties"]
        properties |= {kind: {"$ref": f"{_LOCAL_PREFIX}ofOneKind"} for kind in KIND_NAMES}
        properties |= {group: build_group_options(schema, group) for group in OPERATOR_VERSIONS}
    return schema


def build_group_options(config_schema: Schema, group: str) -> Schema:
    """The schema of ``[lowering."GROUP"]``: the options of a kind, and the version of the operator."""
    options = config_schema["$defs"]["ofOneKind"]
    if not OPERATOR_VERSIONS[group]:
        return {"$ref": f"{_LOCAL_PREFIX}ofOneKind"}
    version = {
        "description": "The version of the operator that the cluster runs.",
        "enum": list(OPERATOR_VERSIONS[group]),
        "default": OPERATOR_VERSIONS[group][0],
    }
    return {**options, "properties": {"version": version, **options["properties"]}}


def schema_name_of(kind: GroupVersionKind) -> str:
    """Return the name of the file in schemas/ for a kind, without its dialect."""
    return load_spec(kind).schema or kind.kind


def load_version_schema(name: str, changes_file: str) -> Schema:
    """Return a bundled schema with the changes of schemas/versions/``changes_file``.json.

    The changes are schemas by JSON Pointer; null removes the field.
    """
    schema = bundle_schema(load_schema_file(name))
    changes = json.loads(package_data.read_bundled_file("schemas", "versions", f"{changes_file}.json"))
    for pointer, changed in changes.items():
        *steps, last = pointer.split("/")[1:]
        node = schema
        for step in steps:
            node = node[step]
        if changed is None:
            del node[last]
        else:
            node[last] = changed
    return schema


def load_kind_schema(kind: GroupVersionKind) -> Schema:
    """Return one schema for all dialects of a kind: the fields of spec decide, else the first dialect
    applies."""
    dialects, name = load_spec(kind).dialects, schema_name_of(kind)
    if not dialects:
        return load_schema_file(name)
    first, *others = dialects
    earlier_fields = set(dialects[first])
    document = load_schema_file(f"{name}.{first}")
    spec: Schema = document["properties"]["spec"]
    definitions = dict(document["$defs"])
    for dialect in others:
        dialect_schema = load_schema_file(f"{name}.{dialect}")
        own_fields = [field for field in dialects[dialect] if field not in earlier_fields]
        condition = {"anyOf": [_require_field(field.split(".")) for field in own_fields]}
        earlier_fields.update(own_fields)
        spec = {
            "description": "What the job is to be.",
            "if": condition,
            "then": dialect_schema["properties"]["spec"],
            "else": spec,
        }
        definitions.update(dialect_schema["$defs"])
    properties = {**document["properties"], "spec": spec}
    return {**document, "title": kind.kind, "properties": properties, "$defs": definitions}


def _require_field(steps: list[str]) -> Schema:
    """Return the schema of a mapping with the field at the end of ``steps``."""
    first, *rest = steps
    required: Schema = {"required": [first]}
    return required | {"properties": {first: _require_field(rest)}} if rest else required


def build_list_schema(known: GroupVersionKind, with_items: bool = False) -> Schema:
    """Return the schema of the List of a kind; its items are any mappings unless ``with_items``."""
    kind, kind_schema = known.kind, load_kind_schema(known)
    item = kind_schema if with_items else None
    items: Schema = {"$ref": f"{_LOCAL_PREFIX}{kind}"} if item else {"type": "object"}
    definitions = {**item["$defs"], kind: {key: item[key] for key in item if key[0] != "$"}} if item else {}
    return {
        "$schema": DRAFT_URI,
        "title": f"{kind}List",
        "description": f"Several objects of the kind {kind}.",
        "type": "object",
        "additionalProperties": False,
        "required": ["apiVersion", "kind", "items"],
        "properties": {
            "apiVersion": kind_schema["properties"]["apiVersion"],
            "kind": {"description": "The kind of this object.", "const": f"{kind}List"},
            "metadata": {"description": "What the API server says about the list.", "type": "object"},
            "items": {"description": "The objects.", "type": "array", "items": items},
        },
        "$defs": definitions,
    }


def bundle_schema(schema: Schema, load_definition: Callable[[str], Schema] | None = None) -> Schema:
    """Return ``schema`` with everything that it refers to in its own ``$defs``.

    ``load_definition`` returns the definitions of Kubernetes by name; without it they are replaced by any
    mapping, marked with ``KUBERNETES_KEYWORD``.
    """
    resolvers: dict[str, Callable[[str], Schema]] = {
        _LOCAL_PREFIX: lambda name: schema["$defs"][name],
    }
    if load_definition is not None:
        resolvers[_KUBERNETES_PREFIX] = load_definition
    definitions: dict[str, Schema] = {}

    def embed(node: Any, prefix: str) -> Any:
        if isinstance(node, list):
            return [embed(entry, prefix) for entry in node]
        if not isinstance(node, dict):
            return node
        rest = {
            key: embed(below, prefix) if isinstance(below, dict | list) else below
            for key, below in node.items()
            if key not in ("$ref", "$defs")
        }
        reference = node.get("$ref")
        return {**embed_reference(reference, prefix), **rest} if isinstance(reference, str) else rest

    def embed_reference(reference: str, prefix: str) -> Schema:
        if shared := _SHARED_PREFIX.match(reference):
            prefix = shared[0]
            resolvers.setdefault(prefix, lambda name: load_schema_file(shared[1])["$defs"][name])
        elif reference.startswith(_KUBERNETES_PREFIX):
            prefix = _KUBERNETES_PREFIX
        name = reference.removeprefix(prefix).removeprefix(_LOCAL_PREFIX)
        if prefix not in resolvers:
            return {"type": "object", KUBERNETES_KEYWORD: name}
        key = f"kubernetes.{name.replace('?', '.')}" if prefix == _KUBERNETES_PREFIX else name
        if key not in definitions:
            definitions[key] = {}
            definitions[key] = embed(resolvers[prefix](name), prefix)
        return {"$ref": _LOCAL_PREFIX + key}

    return {**embed(schema, _LOCAL_PREFIX), "$defs": definitions}
