"""Compiles a profile to a ColossalAIJob, in either dialect of its API."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to
from podplan.core.typing import Any
from podplan.core.wording import join_words
from podplan.kinds.common.env import build_env
from podplan.kinds.common.hardware import NodeRequest, resolve_node_request, resolve_process_count
from podplan.kinds.common.merge import drop_absent
from podplan.kinds.common.profile import (
    ProfileRole,
    require_choice,
    stringify_list,
)
from podplan.kinds.common.run import RunCommand, parse_run
from podplan.kinds.common.template import build_pod_template
from podplan.kinds.t9k.launcher_profile import build_replica_spec, parse_launcher_and_workers, reject_restarts
from podplan.kinds.t9k.run_policy import (
    build_run_mode,
    build_scheduler,
    build_worker_clean_up,
    copy_if_written,
)

LAUNCHER_FIELDS = ("image", "workingDir", "env", "resources")


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of a ColossalAIJob as a traced tree, and the diagnostics of the profile."""
    spec = profile.get("spec")
    diagnostics: list[Diagnostic] = []
    require_choice(spec.get("launcher"), ("colossalai",), spec, diagnostics)
    colossalai_section = spec.get("colossalai")
    roles = parse_launcher_and_workers(spec, ("launcher", "worker"), diagnostics)
    worker = next(role for role in roles if role.name == "worker")
    node_requests = {role.name: resolve_node_request(role, inventory, diagnostics) for role in roles}
    processes = resolve_process_count(spec.get("processes"), [(worker, node_requests["worker"])], diagnostics)
    run_command = parse_run(worker.get_field("run"), ("python",), "ColossalAIJob", diagnostics)
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
    specs = [build_replica_spec(role, node_requests[role.name], diagnostics) for role in roles]
    written_specs = [entry for entry in specs if entry is not None]
    return {
        "torchConfig": attribute_to(spec, config) if config else None,
        "replicaSpecs": attribute_to(spec, written_specs) if written_specs else None,
    }


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
    reject_restarts([spec, *(role.entry for role in roles)], "colossalai.dialect", diagnostics)
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
