"""The objects of the T9k platform that lowering makes beside Kubernetes' own: PodGroup and TensorBoard.

Source of the fields: t9k-semantics §1.2 and §5.4. They are small and few, so the walk that explains also
gives the verdict.
"""

from __future__ import annotations

import json
from functools import cache

from podplan import bundled
from podplan.findings import Problem
from podplan.kubernetes import metadata, resources, structure
from podplan.kubernetes.shape import mapping
from podplan.typing import Any


def check(kind: str, obj: dict[str, Any], version: str) -> list[Problem]:
    """The problems of a PodGroup or a TensorBoard; ``version`` is that of Kubernetes, for its metadata."""
    schema = _schema(kind)
    found = list(structure.explain(schema, obj, version))
    if found:  # a null counts as not written
        obj = structure.without_nulls(schema, obj, version)
        found = list(structure.explain(schema, obj, version))
    if isinstance(obj.get("metadata"), dict):
        found += metadata.check(obj["metadata"], ("metadata",), "dns-subdomain", required=True)
    at = ("spec", "resources")
    found += resources.check(mapping(mapping(obj, "spec"), "resources"), at, set())
    return found


@cache
def _schema(kind: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(bundled.read("schemas", f"{kind}.json"))
    return schema
