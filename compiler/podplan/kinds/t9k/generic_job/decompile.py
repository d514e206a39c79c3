"""The spec of a GenericJob as fields of a profile."""

from __future__ import annotations

from podplan.core.structural_diff import is_same_data
from podplan.core.typing import Any
from podplan.kinds.common.decompile import (
    Fields,
    as_list,
    as_mapping,
    build_role_fields,
    pick_renamed,
)
from podplan.kinds.common.decompile_run import decompile_command
from podplan.kinds.common.decompile_template import decompile_pod_template
from podplan.kinds.t9k.decompile import decompile_restart_policy, decompile_run_mode, decompile_schedule


def decompile(spec: Fields) -> Fields:
    """Return the fields of the shortest profile that compiles to about ``spec``."""
    roles = [_decompile_role(as_mapping(entry)) for entry in as_list(spec.get("replicaSpecs"))]
    mode_fields = decompile_run_mode(spec, roles)
    has_exposed_ports = _has_exposed_ports(spec.get("service"), roles)
    ports = [role.pop("ports", None) for role in roles] if has_exposed_ports else []
    shared_fields = build_role_fields(roles)
    if not has_exposed_ports and "ports" in shared_fields:  # ports of the spec would create a Service
        shared_fields = _move_ports_to_roles(shared_fields)
    generic_section = pick_renamed(spec, {"successRules": "successRules", "failureRules": "failureRules"})
    if "service" in spec and not has_exposed_ports:
        generic_section["service"] = spec["service"]
    return {
        **shared_fields,
        **({"ports": ports[0]} if has_exposed_ports else {}),
        **decompile_schedule(spec),
        **pick_renamed(spec, {"cleanUpPolicy": "cleanUp"}),
        **mode_fields,
        **({"generic": generic_section} if generic_section else {}),
    }


def _decompile_role(entry: Fields) -> Fields:
    name = str(entry.get("type", ""))
    return {
        "name": name,
        **pick_renamed(entry, {"replicas": "replicas"}),
        **decompile_restart_policy(entry),
        **decompile_pod_template(entry.get("template"), name, decompile_command),
    }


def _has_exposed_ports(service: Any, roles: list[Fields]) -> bool:
    """Whether the Service has exactly the ports that every role has."""
    if set(as_mapping(service)) != {"ports"} or not roles or not all(role.get("ports") for role in roles):
        return False
    return all(is_same_data(as_list(service["ports"]), role["ports"]) for role in roles)


def _move_ports_to_roles(shared_fields: Fields) -> Fields:
    """Return ``shared_fields`` with the ports moved to the roles."""
    other_fields = {field: value for field, value in shared_fields.items() if field not in ("ports", "roles")}
    roles = shared_fields.get("roles", [{"name": "worker"}])
    return {**other_fields, "roles": [{**role, "ports": shared_fields["ports"]} for role in roles]}
