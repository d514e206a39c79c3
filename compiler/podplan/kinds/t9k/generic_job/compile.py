"""A profile as a GenericJob."""

from __future__ import annotations

from podplan.core.findings import Problem
from podplan.core.provenance import Cursor, at
from podplan.core.typing import Any
from podplan.kinds.common.hardware import node
from podplan.kinds.common.merge import present
from podplan.kinds.common.profile import Role, open_roles
from podplan.kinds.common.run import FORMS, as_command, run
from podplan.kinds.common.template import pod_template
from podplan.kinds.common.volumes import named_entries
from podplan.kinds.t9k.run_policy import as_written, clean_up_policy, restart_policy, run_mode, scheduler

FIELDS = frozenset(("restart", "retries", "cleanUp", "generic"))
ROLE_FIELDS = frozenset(("restart", "retries"))


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Problem]]:
    """The spec of a GenericJob as a marked tree, and what is wrong with the profile."""
    spec = profile.get("spec")
    problems: list[Problem] = []
    roles = open_roles(spec)
    generic = spec.get("generic")
    tree = {
        "scheduler": scheduler(spec),
        "cleanUpPolicy": clean_up_policy(spec, problems),
        "runMode": run_mode(spec, roles),
        "service": _service(spec),
        "successRules": as_written(generic.get("successRules")),
        "failureRules": as_written(generic.get("failureRules")),
        "replicaSpecs": at(spec, [_replica_spec(role, inventory, problems) for role in roles]),
    }
    return at(spec, present(tree)), problems


def _replica_spec(role: Role, inventory: Cursor, problems: list[Problem]) -> Any:
    said = run(role.get("run"), FORMS, "GenericJob", problems)
    given = node(role, inventory, problems)
    tree = {
        "type": role.type,
        "replicas": role.get("replicas"),
        "restartPolicy": restart_policy(role, problems),
        "template": pod_template(role, role.name, as_command(said), given, problems),
    }
    return at(role.why, present(tree))


def _service(spec: Cursor) -> Any:
    """The service as it is written, else one with the ports that all roles have."""
    written = spec.get("generic", "service")
    if written.exists:
        return as_written(written)
    everywhere = Role("", spec.get("roles", 0, "name"), spec)
    ports = [
        at(where, present({key: fields.get(key) for key in ("name", "protocol", "port")}))
        for where, fields in named_entries(everywhere, "ports")
    ]
    return at(spec.get("ports"), {"ports": ports}) if ports else None
