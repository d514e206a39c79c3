"""Compiles a profile to a job of the training operator: the common part of all kinds."""

from __future__ import annotations

from collections.abc import Callable

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, Traced, attribute_to, compute_traced
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.common.hardware import NodeRequest, resolve_node_request, resolve_process_count
from podplan.kinds.common.lifecycle import (
    build_deadline,
    build_suspend,
    reject_start_modes,
)
from podplan.kinds.common.merge import drop_absent
from podplan.kinds.common.profile import (
    ProfileRole,
    format_scalar,
    parse_fixed_roles,
    require_choice,
)
from podplan.kinds.common.run import RUN_FORMS, build_command, build_torchrun_command, parse_run
from podplan.kinds.common.schedule import KUEUE, VOLCANO, find_priority_class, find_scheduler
from podplan.kinds.common.template import build_pod_template
from podplan.kinds.kubeflow import behaviors
from podplan.kinds.kubeflow.training_kind import TrainingKind

TracedMap = dict[str, Any]
# The clean-up policies of a profile, with those of the operator.
CLEAN_UPS = {"None": "None", "Unfinished": "Running", "All": "All"}
# The fields of a profile without roles that apply to launcher and workers.
_SHARED_FIELDS = frozenset(("image", "env", "data", "workingDir", "container", "pod", "restart"))
LAUNCHER_FIELDS = _SHARED_FIELDS | {"run"}
WORKER_FIELDS = _SHARED_FIELDS | {"replicas", "hardware", "resources", "shm", "ports", "schedule"}
_LAUNCHERS = ("torchrun", "python")


class RoleReplicas(NamedTuple):
    """A role of a profile with the number of its replicas."""

    role: ProfileRole
    replicas: Any


SplitRoles = Callable[[Cursor, TrainingKind], list[RoleReplicas]]


def compile_job(
    profile: Cursor,
    inventory: Cursor,
    kind: TrainingKind,
    split_roles: SplitRoles,
    *,
    processes_field: str = "",
    takes_torchrun: bool = False,
    run_forms: tuple[str, ...] = RUN_FORMS,
) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of a job as a traced tree, and the diagnostics of the profile.

    ``split_roles`` returns the replica types of a profile without ``roles``. ``processes_field`` is where the
    kind states the processes of a replica, ``run_forms`` are the supported forms of ``run``.
    """
    spec = profile.get("spec")
    diagnostics: list[Diagnostic] = [*reject_start_modes(spec)]
    launcher = require_choice(spec.get("launcher"), _LAUNCHERS, spec, diagnostics) if takes_torchrun else None
    with_torchrun = launcher is not None and launcher.value == "torchrun"
    roles = _list_roles(spec, kind, split_roles, diagnostics)
    requests = [(one.role, resolve_node_request(one.role, inventory, diagnostics)) for one in roles]
    entries: TracedMap = {}
    for one, (_, request) in zip(roles, requests, strict=True):
        run = parse_run(one.role.get_field("run"), run_forms, kind.name, diagnostics)
        command = build_torchrun_command(spec, run) if with_torchrun else build_command(run)
        entries[one.role.name] = _build_replica_spec(kind, one, command, request, diagnostics)
    tree: TracedMap = {
        "elasticPolicy": _build_elastic_policy(spec) if kind.has_elastic_policy else None,
        processes_field or "nprocPerNode": _build_processes(spec, processes_field, requests, diagnostics),
        "runPolicy": _build_run_policy(spec, diagnostics),
        kind.specs_field: attribute_to(spec, entries),
    }
    return attribute_to(spec, drop_absent(tree)), diagnostics


def compile_mpi_job(profile: Cursor, inventory: Cursor, kind: TrainingKind) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of an MPIJob, whose launcher runs mpirun and no script, like ``compile_job``."""
    return compile_job(
        profile,
        inventory,
        kind,
        split_launcher_and_workers,
        processes_field="slotsPerWorker",
        run_forms=("exec", "command"),
    )


def _list_roles(
    spec: Cursor, kind: TrainingKind, split_roles: SplitRoles, diagnostics: list[Diagnostic]
) -> list[RoleReplicas]:
    """Return the roles of the profile, or those that the kind derives from a profile without any."""
    if not spec.get("roles").value:
        return split_roles(spec, kind)
    known = parse_fixed_roles(spec, kind.types, diagnostics)
    return [RoleReplicas(role, _count_role(role, kind)) for role in known if role.entry.exists]


def _count_role(role: ProfileRole, kind: TrainingKind) -> Any:
    """Return the replicas of a role; a type with at most one ignores the number of the job."""
    own = role.entry.get("replicas")
    if role.name not in kind.single_types or own.exists:
        return role.get_field("replicas") if role.get_field("replicas").exists else None
    return attribute_to((behaviors.SINGLE_REPLICA, role.entry), 1)


def split_main_and_workers(spec: Cursor, kind: TrainingKind) -> list[RoleReplicas]:
    """Return one replica of the main type, and workers for the rest of ``replicas``."""
    count = spec.get("replicas")
    origin = count if count.exists else spec
    main = RoleReplicas(_build_role(spec, kind.main_types[0]), attribute_to((behaviors.SPLIT, origin), 1))
    if not isinstance(count.value, int) or count.value < 2:
        return [main]
    workers = compute_traced(lambda replicas: replicas - 1, count, behavior=behaviors.SPLIT)
    return [main, RoleReplicas(_build_role(spec, "Worker"), workers)]


def keep_workers(spec: Cursor, _kind: TrainingKind) -> list[RoleReplicas]:
    """Return only workers."""
    count = spec.get("replicas")
    return [RoleReplicas(_build_role(spec, "Worker"), count if count.exists else None)]


def _build_role(spec: Cursor, name: str, inherited_fields: frozenset[str] | None = None) -> ProfileRole:
    return ProfileRole(name, spec.get("roles", 0), spec, inherited_fields)


def split_launcher_and_workers(spec: Cursor, kind: TrainingKind) -> list[RoleReplicas]:
    """Return a launcher that runs the command, and workers with the hardware."""
    launcher = _build_role(spec, kind.main_types[0], LAUNCHER_FIELDS)
    workers = _build_role(spec, "Worker", WORKER_FIELDS)
    count = spec.get("replicas")
    worker_count = count if count.exists else attribute_to((behaviors.SPLIT, spec), 1)
    return [
        RoleReplicas(launcher, attribute_to((behaviors.SPLIT, spec), 1)),
        RoleReplicas(workers, worker_count),
    ]


def _build_replica_spec(
    kind: TrainingKind,
    one: RoleReplicas,
    command: TracedMap,
    request: NodeRequest,
    diagnostics: list[Diagnostic],
) -> Any:
    role = one.role
    tree = {
        "replicas": one.replicas,
        "restartPolicy": require_choice(
            role.get_field("restart"), kind.restart_policies, role.spec, diagnostics
        ),
        "template": build_pod_template(
            role, kind.container or "main", command, request, diagnostics, kind.container
        ),
    }
    return attribute_to(role.origin_cursor, drop_absent(tree))


def _build_elastic_policy(spec: Cursor) -> Any:
    elastic, torchrun = spec.get("elastic"), spec.get("torchrun")
    if not elastic.exists:
        return None
    tree = {
        "minReplicas": elastic.get("min"),
        "maxReplicas": elastic.get("max"),
        "maxRestarts": torchrun.get("maxRestarts"),
        "rdzvBackend": torchrun.get("rdzvBackend"),
    }
    return attribute_to(elastic, {key: value for key, value in tree.items() if value.exists})


def _build_processes(
    spec: Cursor,
    field: str,
    requests: list[tuple[ProfileRole, NodeRequest]],
    diagnostics: list[Diagnostic],
) -> Any:
    """Build the kind's field for ``processes``: a string for torchrun, a number for mpirun."""
    if not field:
        return None
    processes, chosen = spec.get("processes"), spec.get("torchrun", "procPerNode")
    if not processes.exists:
        return chosen if field == "nprocPerNode" and chosen.exists else None
    hardware = [one for one in requests if one[0].name == "Worker"] or requests
    count = resolve_process_count(processes, hardware, diagnostics)
    if field != "nprocPerNode" or count is None:
        return count
    if isinstance(count, Traced):
        return count._replace(value=format_scalar(count.value))
    return compute_traced(format_scalar, count)


def _build_run_policy(spec: Cursor, diagnostics: list[Diagnostic]) -> Any:
    clean_up = spec.get("cleanUp")
    clean_up_choice = require_choice(clean_up, tuple(CLEAN_UPS), spec, diagnostics)
    tree = drop_absent({
        "activeDeadlineSeconds": build_deadline(spec),
        "backoffLimit": spec.get("retries"),
        "cleanPodPolicy": compute_traced(lambda value: CLEAN_UPS[value], clean_up_choice)
        if clean_up_choice is not None and clean_up_choice.exists
        else None,
        "suspend": build_suspend(spec.get("mode")),
        "schedulingPolicy": _build_scheduling_policy(spec),
    })  # fmt: skip
    return attribute_to(spec, tree) if tree else None


def _build_scheduling_policy(spec: Cursor) -> Any:
    """Return ``schedule`` as the fields that an operator with a gang scheduler reads."""
    schedule = spec.get("schedule")
    if find_scheduler(spec, (VOLCANO, KUEUE)) != VOLCANO:
        return None
    fields = drop_absent({"queue": schedule.get("queue"), "priorityClass": find_priority_class(spec)})
    return attribute_to(schedule, fields) if fields else None
