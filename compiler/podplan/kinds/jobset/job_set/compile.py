"""A profile as a JobSet: a replicated job for each role."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, Traced, attribute_to
from podplan.core.typing import Any
from podplan.kinds.batch.compile import build_job_fields
from podplan.kinds.batch.torchrun import FindAddress, uses_torchrun
from podplan.kinds.common.behaviors import TORCHRUN_OPTIONS
from podplan.kinds.common.lifecycle import (
    build_deadline,
    build_suspend,
    reject_start_modes,
)
from podplan.kinds.common.merge import drop_absent, merge_tree, order_keys
from podplan.kinds.common.profile import ProfileRole, parse_free_roles


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of a JobSet as a traced tree, and the diagnostics of the profile."""
    spec = profile.get("spec")
    diagnostics = reject_start_modes(spec)

    def find_address(role: ProfileRole, diagnostics: list[Diagnostic]) -> Traced | None:
        return _build_address(role, profile, diagnostics)

    find = find_address if uses_torchrun(spec, diagnostics) else None
    jobs = [_build_replicated_job(role, inventory, find, diagnostics) for role in parse_free_roles(spec)]
    retries = spec.get("retries")
    tree = {
        "suspend": build_suspend(spec.get("mode")),
        "failurePolicy": attribute_to(retries, {"maxRestarts": retries}) if retries.exists else None,
        "replicatedJobs": attribute_to(spec, jobs),
    }
    return attribute_to(spec, drop_absent(tree)), diagnostics


def _build_replicated_job(
    role: ProfileRole, inventory: Cursor, find_address: FindAddress | None, diagnostics: list[Diagnostic]
) -> Any:
    fields = build_job_fields(role, inventory, find_address, diagnostics, requires_restart=False)
    template = fields.pop("template")
    job = {**fields, "activeDeadlineSeconds": build_deadline(role.spec), "template": template}
    tree: Any = {
        "name": role.replica_type,
        "template": attribute_to(
            role.origin_cursor, {"spec": attribute_to(role.origin_cursor, drop_absent(job))}
        ),
    }
    for layer in role.get_layers("replicatedJob"):
        if isinstance(layer.value, dict):
            tree = merge_tree(tree, layer)
    return attribute_to(role.origin_cursor, order_keys(tree, ("name",), ("template",)))


def _build_address(role: ProfileRole, profile: Cursor, diagnostics: list[Diagnostic]) -> Traced | None:
    """Return the host name of the first Pod of the role, in the headless Service of the JobSet."""
    name, jobs = profile.get("metadata", "name"), role.get_field("replicatedJob").get("replicas")
    if isinstance(jobs.value, int) and jobs.value > 1:
        message = (
            f"launcher: torchrun joins the Pods of one Job, not of {jobs.value}; write its options in run"
        )
        diagnostics.append(Diagnostic("PROF021", message, jobs.path))
        return None
    if name.exists:
        text = f"{name.value}-{role.name}-0-0.{name.value}"
        return attribute_to((TORCHRUN_OPTIONS, name, role.origin_cursor), text)
    message = "several replicas under torchrun need metadata.name: the host name of the first Pod contains it"
    diagnostics.append(Diagnostic("PROF022", message, role.spec.get("launcher").path))
    return None
