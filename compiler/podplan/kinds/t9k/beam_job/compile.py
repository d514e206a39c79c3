"""Compiles a profile to a BeamJob: a Flink cluster, and the Job that submits the pipeline to it."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to
from podplan.core.typing import Any
from podplan.core.wording import join_words
from podplan.kinds.batch.compile import build_job_fields
from podplan.kinds.common.hardware import resolve_node_request
from podplan.kinds.common.lifecycle import build_deadline, reject_start_fields
from podplan.kinds.common.merge import drop_absent, merge_tree, order_keys, rewrap_tree, unwrap_tree
from podplan.kinds.common.profile import (
    COMMON_ROLE_FIELDS,
    ProfileRole,
    parse_fixed_roles,
    require_choice,
)
from podplan.kinds.t9k.run_policy import build_scheduler, build_worker_clean_up

# The container that submits the pipeline, as the manual calls it; any name works.
CONTAINER = "submit-job"
# The roles, called as T9k calls the Pods; the fields of a FlinkCluster for its two.
MANAGERS = {"jobmanager": "jobManager", "taskmanager": "taskManager"}
BATCH_JOB = "batchjob"

_NODE_FIELDS = ("replicas", "hardware", "resources")
# The task managers do the work, so the number of replicas and their nodes are theirs.
_INHERITED_FIELDS = {
    "jobmanager": frozenset[str](),
    "taskmanager": frozenset(_NODE_FIELDS),
    BATCH_JOB: (COMMON_ROLE_FIELDS | {"restart"}) - {"name", *_NODE_FIELDS},
}
_CLUSTER_FIELD_ORDER = ("flinkVersion", "image", *MANAGERS.values())


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of a BeamJob as a traced tree, and the diagnostics of the profile."""
    spec = profile.get("spec")
    diagnostics = reject_start_fields(spec)
    require_choice(spec.get("mode"), ("immediate",), spec, diagnostics)
    roles = {
        role.name: role._replace(inherited_fields=_INHERITED_FIELDS[role.name])
        for role in parse_fixed_roles(spec, (*MANAGERS, BATCH_JOB), diagnostics)
    }
    managers = {
        field: _build_manager(roles[name], inventory, diagnostics) for name, field in MANAGERS.items()
    }
    cluster = merge_tree(attribute_to(spec, drop_absent(managers)), spec.get("flink"))
    tree = {
        "scheduler": build_scheduler(spec),
        "runPolicy": build_worker_clean_up(spec, diagnostics, "cleanUpCluster"),
        "flinkClusterTemplate": attribute_to(spec, {"spec": _order_cluster_fields(cluster)}),
        "jobTemplate": attribute_to(
            spec, {"spec": _build_job_spec(spec, roles[BATCH_JOB], inventory, diagnostics)}
        ),
    }
    return attribute_to(spec, drop_absent(tree)), diagnostics


def _order_cluster_fields(cluster: Any) -> Any:
    tree = unwrap_tree(cluster)
    return rewrap_tree(cluster, order_keys(tree, _CLUSTER_FIELD_ORDER)) if isinstance(tree, dict) else cluster


def _build_manager(role: ProfileRole, inventory: Cursor, diagnostics: list[Diagnostic]) -> Any:
    """Build the section of a FlinkCluster for its job manager or its task managers."""
    for field, place in role.entry.fields().items():
        if field in COMMON_ROLE_FIELDS - {"name", *_NODE_FIELDS, "debug", "resume"}:
            message = (
                f"the role {role.name} has only {join_words(list(_NODE_FIELDS))}; write fields of Flink into"
                f" flink.{MANAGERS[role.name]}"
            )
            diagnostics.append(Diagnostic("PROF020", message, place.path, on_key=True))
    request = resolve_node_request(role, inventory, diagnostics)
    tree = drop_absent(
        {"replicas": role.get_field("replicas"), "resources": request.resources, **request.scheduling}
    )
    return attribute_to(role.origin_cursor, tree) if tree else None


def _build_job_spec(spec: Cursor, role: ProfileRole, inventory: Cursor, diagnostics: list[Diagnostic]) -> Any:
    fields = build_job_fields(role, inventory, None, diagnostics, requires_restart=True, container=CONTAINER)
    tree = {"backoffLimit": spec.get("retries"), "activeDeadlineSeconds": build_deadline(spec), **fields}
    return attribute_to(role.origin_cursor, drop_absent(tree))
