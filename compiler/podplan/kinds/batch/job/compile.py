"""A profile as a Job."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, Traced, attribute_to
from podplan.core.typing import Any
from podplan.kinds.batch.compile import build_job_fields
from podplan.kinds.batch.torchrun import uses_torchrun
from podplan.kinds.common.behaviors import INDEXED, TORCHRUN_OPTIONS
from podplan.kinds.common.lifecycle import (
    build_deadline,
    build_suspend,
    reject_start_modes,
)
from podplan.kinds.common.merge import drop_absent
from podplan.kinds.common.profile import ProfileRole, reject_roles

ROLE = "worker"


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of a Job as a traced tree, and the diagnostics of the profile."""
    spec = profile.get("spec")
    diagnostics = [
        *reject_start_modes(spec),
        *reject_roles(spec, "write what its Pods need into spec"),
    ]
    absent_entry = spec.get("roles", len(spec.get("roles").entries()))
    role, replicas = ProfileRole(ROLE, absent_entry, spec), spec.get("replicas")

    def find_address(_: ProfileRole, diagnostics: list[Diagnostic]) -> Traced | None:
        return _build_address(profile, diagnostics)

    with_torchrun = uses_torchrun(spec, diagnostics)
    fields = build_job_fields(
        role, inventory, find_address if with_torchrun else None, diagnostics, requires_restart=True
    )
    template = fields.pop("template")
    tree = {
        **fields,
        "completionMode": attribute_to((INDEXED, replicas), "Indexed") if replicas.exists else None,
        "backoffLimit": spec.get("retries"),
        "activeDeadlineSeconds": build_deadline(spec),
        "suspend": build_suspend(spec.get("mode")),
        "template": template,
    }
    return attribute_to(spec, drop_absent(tree)), diagnostics


def _build_address(profile: Cursor, diagnostics: list[Diagnostic]) -> Traced | None:
    """Return the host name of Pod 0, which it has if a headless Service is its subdomain."""
    name, subdomain = profile.get("metadata", "name"), profile.get("spec", "pod", "spec", "subdomain")
    if name.exists and subdomain.exists:
        text = f"{name.value}-0.{subdomain.value}"
        return attribute_to((TORCHRUN_OPTIONS, name, subdomain), text)
    missing = "pod.spec.subdomain (a headless Service)" if name.exists else "metadata.name"
    message = f"several replicas under torchrun need {missing}: the host name of the first Pod contains it"
    diagnostics.append(Diagnostic("PROF022", message, profile.get("spec", "launcher").path))
    return None
