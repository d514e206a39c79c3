"""The JSON Schemas that ``podplan schema`` prints: of kinds, of their Lists and of podplan's own files."""

from __future__ import annotations

import json
from collections.abc import Mapping

from podplan.core.typing import Any
from podplan.kinds.registry import KINDS_BY_NAME, GroupVersionKind, iter_kinds_named, load_spec, name_of
from podplan.kubernetes import schemas
from podplan.schema.bundling import (
    PARTIAL_TEMPLATE,
    STRUCTURAL_TEMPLATE,
    build_list_schema,
    bundle_schema,
    load_kind_schema,
    load_schema_file,
    load_version_schema,
    schema_name_of,
)
from podplan.schema.identity import LIST_KINDS

# The files of podplan that users write, and its results.
OWN_FILES = (
    "JobProfile",
    "ClusterInventory",
    "WorkloadMapping",
    "Config",
    "Policy",
    "PolicyTest",
    "ExampleBases",
)
_RESULTS = ("Findings", "Diff", "Plan")


def list_schema_names() -> list[str]:
    """Return the names of the schemas that ``build_schema`` accepts, sorted."""
    return sorted([*KINDS_BY_NAME, *LIST_KINDS, *OWN_FILES, *_RESULTS])


def find_schema_name(name: str) -> str | None:
    """Return the name of the schema that a user means, also by ``group/version/Kind``; None if there is
    none."""
    if name in list_schema_names():
        return name
    return next(map(name_of, iter_kinds_named(name)), None) if "/" in name else None


def format_schema(schema: Mapping[str, Any]) -> str:
    """Return a schema as the text of a file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def build_schema(name: str, k8s_version: str, operator_versions: Mapping[str, str] = {}) -> dict[str, Any]:
    """Return the self-contained JSON Schema (2020-12) of a kind, of its List or of podplan's own files.

    ``operator_versions`` are those that the configuration states, by API group.

    Raises LookupError: for a name that is not in ``list_schema_names``. Raises ValueError: for a Kubernetes
    version without schemas.
    """
    if name not in list_schema_names():
        raise LookupError(f"unknown schema {name}; the schemas are {', '.join(list_schema_names())}")
    if name in LIST_KINDS:
        schema = build_list_schema(LIST_KINDS[name], with_items=True)
    elif name in KINDS_BY_NAME:
        schema = _load_kind_schema(KINDS_BY_NAME[name], operator_versions)
    else:
        schema = load_schema_file(name)
    return bundle_schema(schema, lambda definition: _load_kubernetes_definition(definition, k8s_version))


def _load_kind_schema(kind: GroupVersionKind, operator_versions: Mapping[str, str]) -> dict[str, Any]:
    """The schema of a kind, with what differs in the version of its operator."""
    changes = load_spec(kind).version_schemas.get(operator_versions.get(kind.group, ""))
    return load_version_schema(schema_name_of(kind), changes) if changes else load_kind_schema(kind)


def _load_kubernetes_definition(name: str, k8s_version: str) -> dict[str, Any]:
    """Return a definition of Kubernetes; for a template that a controller completes, without required
    fields and containers."""
    if name == STRUCTURAL_TEMPLATE:
        name = "PodTemplateSpec"
    if name != PARTIAL_TEMPLATE:
        return schemas.load_definition(name, k8s_version)
    template, spec = (
        dict(schemas.load_definition(part, k8s_version)) for part in ("PodTemplateSpec", "PodSpec")
    )
    spec.pop("required", None)
    template.pop("required", None)
    containers = {**spec["properties"]["containers"]}
    containers.pop("minItems", None)
    spec["properties"] = {**spec["properties"], "containers": containers}
    return {**template, "properties": {**template["properties"], "spec": spec}}
