"""The JSON Schemas that podplan shows, each in one piece: of kinds, of their Lists and of its own files."""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.kubernetes import schemas
from podplan.schema.bundling import PARTIAL_TEMPLATE, any_dialect, file, list_of, self_contained
from podplan.schema.identity import LISTS, dialects_of

_OWN_FILES = ("JobProfile", "ClusterInventory", "Config", "Policy", "PolicyTest", "Findings", "Diff")


def names() -> list[str]:
    """What ``show`` can show, sorted."""
    return sorted([*LISTS.values(), *LISTS, *_OWN_FILES])


def show(name: str, k8s_version: str) -> dict[str, Any]:
    """The self-contained JSON Schema (2020-12) of a kind, of its List or of a kind of podplan's own files.

    Raises LookupError for a name that is not among ``names()`` and ValueError for
    a version of Kubernetes that podplan has no schemas for.
    """
    if name not in names():
        raise LookupError(f"there is no schema {name}; there are {', '.join(names())}")
    kind = LISTS.get(name, name)
    dialects = dialects_of(kind)
    schema = any_dialect(kind, dialects) if dialects else file(kind)
    if name in LISTS:
        schema = list_of(kind, schema)
    return self_contained(schema, lambda definition: _definition(definition, k8s_version))


def _definition(name: str, k8s_version: str) -> dict[str, Any]:
    """A definition of Kubernetes; of a template that a controller completes, without what must be there."""
    if name != PARTIAL_TEMPLATE:
        return schemas.definition(name, k8s_version)
    template, spec = (dict(schemas.definition(part, k8s_version)) for part in ("PodTemplateSpec", "PodSpec"))
    spec.pop("required", None)
    template.pop("required", None)
    return {**template, "properties": {**template["properties"], "spec": spec}}
