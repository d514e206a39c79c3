"""Common parts of profiles of kinds with a launcher, which starts what the workers run."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to
from podplan.core.typing import Any
from podplan.kinds.common.hardware import NodeRequest
from podplan.kinds.common.merge import drop_absent
from podplan.kinds.common.profile import ProfileRole, parse_fixed_roles
from podplan.kinds.common.template import build_pod_template
from podplan.kinds.t9k.run_policy import build_restart_policy

# The launcher only starts the workers: it inherits no hardware, but what the program needs beside it.
LAUNCHER_INHERITED_FIELDS = frozenset(("image", "workingDir", "env", "pod", "debug", "resume"))


def parse_launcher_and_workers(
    spec: Cursor, names: tuple[str, ...], diagnostics: list[Diagnostic]
) -> list[ProfileRole]:
    """Return the roles with ``names``; a launcher inherits little, and has no ``run`` of its own."""
    roles = [
        role._replace(inherited_fields=LAUNCHER_INHERITED_FIELDS) if role.name == "launcher" else role
        for role in parse_fixed_roles(spec, names, diagnostics)
    ]
    message = "the launcher starts what the workers run; write run in the spec"
    runs = [role.entry.get("run") for role in roles if role.name == "launcher"]
    diagnostics += [Diagnostic("PROF020", message, run.path, on_key=True) for run in runs if run.exists]
    return roles


def build_replica_spec(role: ProfileRole, node_request: NodeRequest, diagnostics: list[Diagnostic]) -> Any:
    """Build one entry of replicaSpecs; None if the profile states nothing about the role."""
    tree = drop_absent({
        "replicas": role.get_field("replicas"),
        "restartPolicy": build_restart_policy(role, diagnostics),
        "template": build_pod_template(role, role.name, {}, node_request, diagnostics, role.name),
    })  # fmt: skip
    if not tree and not role.entry.exists:
        return None
    return attribute_to(role.origin_cursor, {"type": role.replica_type, **tree})


def reject_restarts(places: list[Cursor], dialect_field: str, diagnostics: list[Diagnostic]) -> None:
    """Add a diagnostic for each restart or retries: only the replicaSpecs dialect has a restartPolicy."""
    for place in places:
        for field in ("restart", "retries"):
            if place.get(field).exists:
                message = f"{field} has an effect only with {dialect_field}: replicaSpecs"
                diagnostics.append(Diagnostic("PROF021", message, place.get(field).path, on_key=True))
