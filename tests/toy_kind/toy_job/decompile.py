"""The spec of a ToyJob as fields of a profile."""

from __future__ import annotations

from podplan.kinds.common.decompile import Fields, as_mapping, build_role_fields, pick_renamed
from podplan.kinds.common.decompile_run import decompile_command
from podplan.kinds.common.decompile_template import decompile_pod_template


def decompile(spec: Fields) -> Fields:
    """Return the fields of the shortest profile that compiles to about ``spec``."""
    types = as_mapping(spec.get("toyReplicaSpecs"))
    return build_role_fields([_decompile_type(name, as_mapping(entry)) for name, entry in types.items()])


def _decompile_type(name: str, entry: Fields) -> Fields:
    return {
        "name": name,
        **pick_renamed(entry, {"replicas": "replicas"}),
        **decompile_pod_template(entry.get("template"), name, decompile_command),
    }
