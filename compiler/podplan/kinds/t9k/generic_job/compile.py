"""Compiles a profile to a GenericJob."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to
from podplan.core.typing import Any
from podplan.kinds.common.hardware import resolve_node_request
from podplan.kinds.common.merge import drop_absent
from podplan.kinds.common.profile import ProfileRole, parse_free_roles
from podplan.kinds.common.run import RUN_FORMS, build_command, parse_run
from podplan.kinds.common.template import build_pod_template
from podplan.kinds.common.volumes import merge_named_entries
from podplan.kinds.t9k.run_policy import (
    build_restart_policy,
    build_run_mode,
    build_scheduler,
    copy_if_written,
    read_clean_up_policy,
)


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of a GenericJob as a traced tree, and the diagnostics of the profile."""
    spec = profile.get("spec")
    diagnostics: list[Diagnostic] = []
    roles = parse_free_roles(spec)
    generic_section = spec.get("generic")
    tree = {
        "scheduler": build_scheduler(spec),
        "cleanUpPolicy": read_clean_up_policy(spec, diagnostics),
        "runMode": build_run_mode(spec, roles),
        "service": _build_service(spec),
        "successRules": copy_if_written(generic_section.get("successRules")),
        "failureRules": copy_if_written(generic_section.get("failureRules")),
        "replicaSpecs": attribute_to(
            spec, [_build_replica_spec(role, inventory, diagnostics) for role in roles]
        ),
    }
    return attribute_to(spec, drop_absent(tree)), diagnostics


def _build_replica_spec(role: ProfileRole, inventory: Cursor, diagnostics: list[Diagnostic]) -> Any:
    run_command = parse_run(role.get_field("run"), RUN_FORMS, "GenericJob", diagnostics)
    node_request = resolve_node_request(role, inventory, diagnostics)
    tree = {
        "type": role.replica_type,
        "replicas": role.get_field("replicas"),
        "restartPolicy": build_restart_policy(role, diagnostics),
        "template": build_pod_template(
            role, role.name, build_command(run_command), node_request, diagnostics
        ),
    }
    return attribute_to(role.origin_cursor, drop_absent(tree))


def _build_service(spec: Cursor) -> Any:
    """Return the service as written, else one with the ports that all roles have."""
    service_field = spec.get("generic", "service")
    if service_field.exists:
        return copy_if_written(service_field)
    shared_role = ProfileRole("", spec.get("roles", 0, "name"), spec)
    ports = [
        attribute_to(where, drop_absent({key: fields.get(key) for key in ("name", "protocol", "port")}))
        for where, fields in merge_named_entries(shared_role, "ports")
    ]
    return attribute_to(spec.get("ports"), {"ports": ports}) if ports else None
