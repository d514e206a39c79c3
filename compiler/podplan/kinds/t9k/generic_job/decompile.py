"""The spec of a GenericJob as fields of a profile."""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.kinds.common.decompile import (
    Fields,
    listed,
    mapping,
    mode_fields,
    picked,
    restart_fields,
    same,
    schedule_fields,
    with_roles,
)
from podplan.kinds.common.decompile_run import from_command
from podplan.kinds.common.decompile_template import template_fields


def decompile(spec: Fields) -> Fields:
    """The fields of the shortest profile that comes near to ``spec``."""
    roles = [_role(mapping(entry)) for entry in listed(spec.get("replicaSpecs"))]
    mode = mode_fields(spec, roles)
    exposed = _exposed(spec.get("service"), roles)
    ports = [role.pop("ports", None) for role in roles] if exposed else []
    shared = with_roles(roles)
    if not exposed and "ports" in shared:  # ports of the spec would make a Service
        shared = _given_back(shared)
    generic = picked(spec, {"successRules": "successRules", "failureRules": "failureRules"})
    if "service" in spec and not exposed:
        generic["service"] = spec["service"]
    return {
        **shared,
        **({"ports": ports[0]} if exposed else {}),
        **schedule_fields(spec),
        **picked(spec, {"cleanUpPolicy": "cleanUp"}),
        **mode,
        **({"generic": generic} if generic else {}),
    }


def _role(entry: Fields) -> Fields:
    name = str(entry.get("type", ""))
    return {
        "name": name,
        **picked(entry, {"replicas": "replicas"}),
        **restart_fields(entry),
        **template_fields(entry.get("template"), name, from_command),
    }


def _exposed(service: Any, roles: list[Fields]) -> bool:
    """Whether the Service has just the ports that every role has."""
    if set(mapping(service)) != {"ports"} or not roles or not all(role.get("ports") for role in roles):
        return False
    return all(same(listed(service["ports"]), role["ports"]) for role in roles)


def _given_back(shared: Fields) -> Fields:
    """``shared`` with its ports in the roles instead."""
    rest = {field: value for field, value in shared.items() if field not in ("ports", "roles")}
    roles = shared.get("roles", [{"name": "worker"}])
    return {**rest, "roles": [{**role, "ports": shared["ports"]} for role in roles]}
