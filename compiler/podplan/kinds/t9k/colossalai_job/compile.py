"""Compiles a profile to a ColossalAIJob, in either dialect of its API."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to
from podplan.core.typing import Any
from podplan.kinds.common.env import build_env
from podplan.kinds.common.hardware import NodeRequest, resolve_node_request, resolve_process_count
from podplan.kinds.common.merge import drop_absent
from podplan.kinds.common.profile import (
    ProfileRole,
    join_words,
    parse_fixed_roles,
    require_choice,
    stringify_list,
)
from podplan.kinds.common.run import RunCommand, parse_run
from podplan.kinds.common.template import build_pod_template
from podplan.kinds.t9k.run_policy import (
    build_restart_policy,
    build_run_mode,
    build_scheduler,
    build_worker_clean_up,
    copy_if_written,
)

# The launcher only starts the workers: it inherits image, directory and env, but no hardware.
LAUNCHER_INHERITED_FIELDS = frozenset(("image", "workingDir", "env", "pod", "debug", "resume"))
LAUNCHER_FIELDS = ("image", "workingDir", "env", "resources")


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of a ColossalAIJob as a traced tree, and the diagnostics of the profile."""
    spec = profile.get("spec")
    diagnostics: list[Diagnostic] = []
    require_choice(spec.get("launcher"), ("colossalai",), spec, diagnostics)
    colossalai_section = spec.get("colossalai")
    roles = [
        role._replace(inherited_fields=LAUNCHER_INHERITED_FIELDS) if role.name == "launcher" else role
        for role in parse_fixed_roles(spec, ("launcher", "worker"), diagnostics)
    ]
    worker = next(role for role in roles if role.name == "worker")
    node_requests = {role.name: resolve_node_request(role, inventory, diagnostics) for role in roles}
    processes = resolve_process_count(spec.get("processes"), [(worker, node_requests["worker"])], diagnostics)
    run_command = parse_run(worker.get_field("run"), ("python",), "ColossalAIJob", diagnostics)
    diagnostics += _find_launcher_run(roles)
    tree = {
        "scheduler": build_scheduler(spec),
        "runPolicy": build_worker_clean_up(spec, diagnostics),
        "runMode": build_run_mode(spec, roles),
        "ssh": copy_if_written(colossalai_section.get("ssh")),
    }
    build_dialect = (
        _build_launcher_dialect
        if colossalai_section.get("dialect").value == "launcher"
        else _build_replica_specs_dialect
    )
    return attribute_to(
        spec,
        drop_absent(
            {**tree, **build_dialect(spec, roles, node_requests, processes, run_command, diagnostics)}
        ),
    ), diagnostics


def _build_replica_specs_dialect(
    spec: Cursor,
    roles: list[ProfileRole],
    node_requests: dict[str, NodeRequest],
    processes: Any,
    run_command: RunCommand,
    diagnostics: list[Diagnostic],
) -> dict[str, Any]:
    config = drop_absent({
        "procPerWorker": processes,
        "script": stringify_list(run_command.words) if run_command.form else None,
        "extraArgs": stringify_list(spec.get("colossalai", "extraArgs")),
    })  # fmt: skip
    specs = [_build_replica_spec(role, node_requests[role.name], diagnostics) for role in roles]
    written_specs = [entry for entry in specs if entry is not None]
    return {
        "torchConfig": attribute_to(spec, config) if config else None,
        "replicaSpecs": attribute_to(spec, written_specs) if written_specs else None,
    }


def _build_replica_spec(role: ProfileRole, node_request: NodeRequest, diagnostics: list[Diagnostic]) -> Any:
    """Build one entry of replicaSpecs; None if the profile states nothing about the role."""
    tree = drop_absent({
        "replicas": role.get_field("replicas"),
        "restartPolicy": build_restart_policy(role, diagnostics),
        "template": build_pod_template(role, role.name, {}, node_request, diagnostics, role.name),
    })  # fmt: skip
    if not tree and not role.entry.exists:
        return None
    return attribute_to(role.origin_cursor, {"type": role.replica_type, **tree})


def _build_launcher_dialect(
    spec: Cursor,
    roles: list[ProfileRole],
    node_requests: dict[str, NodeRequest],
    processes: Any,
    run_command: RunCommand,
    diagnostics: list[Diagnostic],
) -> dict[str, Any]:
    by_name = {role.name: role for role in roles}
    worker = by_name["worker"]
    _reject_restarts(spec, roles, diagnostics)
    tree = drop_absent({
        "replicas": worker.get_field("replicas"),
        "procPerWorker": processes,
        "command": stringify_list(run_command.words) if run_command.form else None,
        "torchArgs": stringify_list(spec.get("colossalai", "extraArgs")),
        "template": build_pod_template(worker, "worker", {}, node_requests["worker"], diagnostics, "worker"),
    })  # fmt: skip
    return {
        "launcher": _build_launcher(by_name["launcher"], node_requests["launcher"], diagnostics),
        "worker": attribute_to(worker.origin_cursor, tree) if tree else None,
    }


def _build_launcher(role: ProfileRole, node_request: NodeRequest, diagnostics: list[Diagnostic]) -> Any:
    """Build the launcher of the launcher dialect, which has no template."""
    for field, field_cursor in role.entry.fields().items():
        if field not in (*LAUNCHER_FIELDS, "name", "hardware", "run", "debug", "resume"):
            allowed_fields = join_words(list(LAUNCHER_FIELDS))
            message = f"in the launcher dialect, the launcher has no {field}, only {allowed_fields}"
            diagnostics.append(Diagnostic("PROF020", message, field_cursor.path, on_key=True))
    tree = drop_absent({
        "image": role.get_field("image"),
        "workingDir": role.get_field("workingDir"),
        "env": build_env(role),
        "resources": node_request.resources,
    })  # fmt: skip
    return attribute_to(role.origin_cursor, tree) if tree else None


def _find_launcher_run(roles: list[ProfileRole]) -> list[Diagnostic]:
    """Return a diagnostic for a launcher with its own ``run``: it starts what the workers run."""
    run_cursors = [role.entry.get("run") for role in roles if role.name == "launcher"]
    message = "the launcher starts what the workers run; write run in the spec"
    return [Diagnostic("PROF020", message, place.path, on_key=True) for place in run_cursors if place.exists]


def _reject_restarts(spec: Cursor, roles: list[ProfileRole], diagnostics: list[Diagnostic]) -> None:
    """Add a diagnostic for each restart or retries: only the replicaSpecs dialect has a restartPolicy."""
    for level in (spec, *(role.entry for role in roles)):
        for field in ("restart", "retries"):
            if level.get(field).exists:
                message = f"{field} has an effect only with colossalai.dialect: replicaSpecs"
                diagnostics.append(Diagnostic("PROF021", message, level.get(field).path, on_key=True))
