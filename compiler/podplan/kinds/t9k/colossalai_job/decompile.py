"""The spec of a ColossalAIJob, in either dialect, as fields of a profile."""

from __future__ import annotations

from podplan.kinds.common.decompile import (
    Fields,
    in_order,
    is_words,
    listed,
    mapping,
    mode_fields,
    picked,
    processes_field,
    restart_fields,
    same,
    schedule_fields,
)
from podplan.kinds.common.decompile_run import nothing
from podplan.kinds.common.decompile_template import template_fields
from podplan.kinds.t9k.colossalai_job.compile import LAUNCHER_INHERITS

# Fields of the spec that a launcher replaces by its own; the others it inherits are laid over each other.
_REPLACED = ("image", "workingDir", "debug", "resume")


def decompile(spec: Fields) -> Fields:
    """The fields of the shortest profile that comes near to ``spec``."""
    old = "launcher" in spec or "worker" in spec
    roles, words, count, extra, block = _launcher_dialect(spec) if old else _replica_specs_dialect(spec)
    mode = mode_fields(spec, roles)
    block |= {**({"extraArgs": extra} if extra is not None else {}), **picked(spec, {"ssh": "ssh"})}
    workers = [role for role in roles if role["name"] == "worker"]
    clean_up = mapping(spec.get("runPolicy")).get("cleanUpWorkers")
    return {
        **_shared(roles, LAUNCHER_INHERITS - {"pod"} if old else LAUNCHER_INHERITS),
        **({"run": words} if is_words(words) else {}),
        **processes_field(count, workers),
        **schedule_fields(spec),
        **({"cleanUp": "Workers" if clean_up else "None"} if isinstance(clean_up, bool) else {}),
        **mode,
        **({"colossalai": block} if block else {}),
    }


_Parts = tuple[list[Fields], object, object, object, Fields]


def _replica_specs_dialect(spec: Fields) -> _Parts:
    config = mapping(spec.get("torchConfig"))
    roles = [_role(mapping(entry)) for entry in listed(spec.get("replicaSpecs"))]
    return roles, config.get("script"), config.get("procPerWorker"), config.get("extraArgs"), {}


def _role(entry: Fields) -> Fields:
    name = str(entry.get("type", ""))
    return {
        "name": name,
        **picked(entry, {"replicas": "replicas"}),
        **restart_fields(entry),
        **template_fields(entry.get("template"), name, nothing, name),
    }


def _launcher_dialect(spec: Fields) -> _Parts:
    worker, roles = mapping(spec.get("worker")), []
    if "launcher" in spec:
        # The launcher has four fields of a container, and no other.
        as_template = {"spec": {"containers": [{"name": "launcher", **mapping(spec["launcher"])}]}}
        launcher = {"name": "launcher", **template_fields(as_template, "launcher", nothing)}
        roles.append(launcher)
    if "worker" in spec:
        template = template_fields(worker.get("template"), "worker", nothing, "worker")
        roles.append({"name": "worker", **picked(worker, {"replicas": "replicas"}), **template})
    block: Fields = {"dialect": "launcher"}
    return roles, worker.get("command"), worker.get("procPerWorker"), worker.get("torchArgs"), block


def _shared(roles: list[Fields], inherits: frozenset[str]) -> Fields:
    """What the roles have, that of the worker in the spec where the launcher would not inherit too much."""
    by_name = {role["name"]: dict(role) for role in roles}
    launcher, worker = by_name.get("launcher"), by_name.get("worker", {})
    if len(by_name) != len(roles) or not set(by_name) <= {"launcher", "worker"}:
        return {"roles": roles}
    spec: Fields = {}
    for field in [field for field in worker if field != "name"]:
        if field not in inherits:
            spec[field] = worker.pop(field)
        elif launcher is not None and field in launcher:
            if same(launcher[field], worker[field]):
                del launcher[field]
                spec[field] = worker.pop(field)
            elif field in _REPLACED:
                spec[field] = worker.pop(field)
    unusual = list(by_name) == ["worker", "launcher"]
    inherited = {"worker": bool(spec), "launcher": not inherits.isdisjoint(spec)}
    needed = [role for name, role in by_name.items() if unusual or len(role) > 1 or not inherited[name]]
    if needed:
        spec["roles"] = [in_order(role, ("name", "replicas")) for role in needed]
    return spec
