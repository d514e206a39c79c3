"""Compiles a profile to a ToyJob."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to
from podplan.core.typing import Any
from podplan.kinds.common.hardware import resolve_node_request
from podplan.kinds.common.merge import drop_absent
from podplan.kinds.common.profile import ProfileRole, parse_free_roles
from podplan.kinds.common.run import RUN_FORMS, build_command, parse_run
from podplan.kinds.common.template import build_pod_template


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of a ToyJob as a traced tree, and the diagnostics of the profile."""
    spec = profile.get("spec")
    diagnostics: list[Diagnostic] = []
    types = {role.name: _build_type(role, inventory, diagnostics) for role in parse_free_roles(spec)}
    return attribute_to(spec, {"toyReplicaSpecs": attribute_to(spec, types)}), diagnostics


def _build_type(role: ProfileRole, inventory: Cursor, diagnostics: list[Diagnostic]) -> Any:
    run_command = parse_run(role.get_field("run"), RUN_FORMS, "ToyJob", diagnostics)
    node_request = resolve_node_request(role, inventory, diagnostics)
    template = build_pod_template(role, role.name, build_command(run_command), node_request, diagnostics)
    return attribute_to(
        role.origin_cursor, drop_absent({"replicas": role.get_field("replicas"), "template": template})
    )
