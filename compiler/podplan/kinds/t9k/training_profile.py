"""Profiles of TensorFlowTrainingJob and XGBoostTrainingJob: roles with fixed types, each with its command."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.common.decompile import Fields, as_list, as_mapping, build_role_fields, pick_renamed
from podplan.kinds.common.decompile_run import decompile_command
from podplan.kinds.common.decompile_template import decompile_pod_template
from podplan.kinds.common.hardware import resolve_node_request
from podplan.kinds.common.merge import drop_absent
from podplan.kinds.common.profile import ProfileRole, parse_fixed_roles, require_choice
from podplan.kinds.common.run import RUN_FORMS, build_command, parse_run
from podplan.kinds.common.template import build_pod_template
from podplan.kinds.t9k.decompile import decompile_run_mode, decompile_run_policy, decompile_schedule
from podplan.kinds.t9k.run_policy import (
    build_run_mode,
    build_run_policy,
    build_scheduler,
    copy_if_written,
    read_restart,
)


class TrainingRole(NamedTuple):
    """A role of a profile with the number of its replicas."""

    role: ProfileRole
    replicas: Any


def parse_typed_roles(
    spec: Cursor, types: tuple[str, ...], diagnostics: list[Diagnostic]
) -> list[TrainingRole]:
    """Return the written roles, in their order; empty for a profile without roles."""
    roles = [role for role in parse_fixed_roles(spec, types, diagnostics) if role.entry.exists]
    roles.sort(key=lambda role: role.entry.path)
    return [TrainingRole(role, role.get_field("replicas")) for role in roles]


def compile_training_job(
    profile: Cursor,
    inventory: Cursor,
    job_kind: str,
    container: str,
    roles: list[TrainingRole],
    diagnostics: list[Diagnostic],
) -> Any:
    """Return the spec of a job as a traced tree; ``container`` is the name of the training container."""
    spec = profile.get("spec")
    require_choice(spec.get("launcher"), ("python",), spec, diagnostics)
    replica_specs = []
    for role, replicas in roles:
        node_request = resolve_node_request(role, inventory, diagnostics)
        run_command = parse_run(role.get_field("run"), RUN_FORMS, job_kind, diagnostics)
        tree = {
            "type": role.replica_type,
            "replicas": replicas,
            "restartPolicy": read_restart(role, diagnostics),
            "template": build_pod_template(
                role, container, build_command(run_command), node_request, diagnostics, container
            ),
        }
        replica_specs.append(attribute_to(role.origin_cursor, drop_absent(tree)))
    tree = {
        "scheduler": build_scheduler(spec),
        "runPolicy": build_run_policy(spec, diagnostics),
        "runMode": build_run_mode(spec, [role for role, _ in roles]),
        "tensorboardSpec": copy_if_written(spec.get("tensorboard")),
        "replicaSpecs": attribute_to(spec, replica_specs),
    }
    return attribute_to(spec, drop_absent(tree))


def decompile_training_job(spec: Fields, container: str, default_role: str = "worker") -> Fields:
    """Return the fields of the shortest profile that compiles to about ``spec``.

    ``default_role`` is the role of a profile without roles, "" if there is no single one.
    """
    roles = [_decompile_role(as_mapping(entry), container) for entry in as_list(spec.get("replicaSpecs"))]
    mode_fields = decompile_run_mode(spec, roles)
    return {
        **build_role_fields(roles, default_role),
        **decompile_schedule(spec),
        **decompile_run_policy(spec),
        **mode_fields,
        **pick_renamed(spec, {"tensorboardSpec": "tensorboard"}),
    }


def _decompile_role(entry: Fields, container: str) -> Fields:
    return {
        "name": str(entry.get("type", "")),
        **pick_renamed(entry, {"replicas": "replicas", "restartPolicy": "restart"}),
        **decompile_pod_template(entry.get("template"), container, decompile_command, container),
    }
