"""Decompiles the spec of a job of the training operator to fields of a profile."""

from __future__ import annotations

from podplan.core.structural_diff import is_same_data
from podplan.core.typing import Any
from podplan.kinds.common.decompile import (
    Fields,
    as_mapping,
    build_role_fields,
    decompile_lifecycle,
    decompile_processes,
    pick_renamed,
)
from podplan.kinds.common.decompile_run import decompile_command, remove_torchrun, runs_torchrun
from podplan.kinds.common.decompile_template import decompile_pod_template
from podplan.kinds.kubeflow.compile import CLEAN_UPS, LAUNCHER_FIELDS, WORKER_FIELDS
from podplan.kinds.kubeflow.training_kind import TrainingKind

_CLEAN_UP_NAMES = {value: name for name, value in CLEAN_UPS.items()}
_PROCESS_WORDS = ("auto", "cpu", "gpu")


def decompile_mpi_job(spec: Fields, kind: TrainingKind) -> Fields:
    """Return the fields of the shortest profile for an MPIJob, like ``decompile_job``."""
    return decompile_job(spec, kind, processes_field="slotsPerWorker", has_launcher=True)


def decompile_job(
    spec: Fields,
    kind: TrainingKind,
    *,
    processes_field: str = "",
    takes_torchrun: bool = False,
    has_launcher: bool = False,
) -> Fields:
    """Return the fields of the shortest profile that compiles approximately to ``spec``.

    With ``has_launcher`` a profile without roles is a launcher that runs the command, and workers.
    """
    roles = [
        _decompile_role(kind, name, as_mapping(entry))
        for name, entry in as_mapping(spec.get(kind.specs_field)).items()
    ]
    with_torchrun = takes_torchrun and bool(roles) and all(map(runs_torchrun, roles))
    if with_torchrun:
        for role in roles:
            remove_torchrun(role)
    elastic = _decompile_elastic(spec) if kind.has_elastic_policy else {}
    merged = _merge_launcher_and_workers(kind, roles) if has_launcher else {}
    return {
        **(merged or _merge_roles(kind, roles, is_elastic=bool(elastic))),
        **({"launcher": "torchrun"} if with_torchrun else {}),
        **_decompile_processes(spec.get(processes_field), roles),
        **elastic,
        **_decompile_run_policy(spec),
    }


def _decompile_role(kind: TrainingKind, name: str, entry: Fields) -> Fields:
    return {
        "name": name,
        **pick_renamed(entry, {"replicas": "replicas", "restartPolicy": "restart"}),
        **decompile_pod_template(
            entry.get("template"), kind.container or "main", decompile_command, kind.container
        ),
    }


def _merge_roles(kind: TrainingKind, roles: list[Fields], is_elastic: bool) -> Fields:
    """Return only ``replicas`` if compiling derives the same types from it, else ``roles``."""
    fields = [
        {key: value for key, value in role.items() if key not in ("name", "replicas")} for role in roles
    ]
    names = [role["name"] for role in roles]
    counts: list[Any] = [role.get("replicas") for role in roles]
    first_type = kind.main_types[0] if kind.splits_replicas and not is_elastic else "Worker"
    if names == [first_type] and (first_type == "Worker" or counts == [1]):
        return fields[0] | ({"replicas": counts[0]} if counts[0] is not None else {})
    is_split = names == [first_type, "Worker"] and counts[0] == 1 and isinstance(counts[1], int)
    if is_split and counts[1] > 0 and is_same_data(fields[0], fields[1]):
        return fields[0] | {"replicas": counts[1] + 1}
    merged = build_role_fields(roles, "")
    for role in merged.get("roles", ()):
        if role["name"] in kind.single_types and role.get("replicas") == 1:
            del role["replicas"]  # as compiling writes it
    return merged


def _merge_launcher_and_workers(kind: TrainingKind, roles: list[Fields]) -> Fields:
    """Return the profile without roles that compiles to these two types; empty if there is none."""
    by_name = {role["name"]: role for role in roles}
    if by_name.keys() != {kind.main_types[0], "Worker"}:
        return {}
    launcher, workers = (_drop_name(by_name[name]) for name in (kind.main_types[0], "Worker"))
    if launcher.pop("replicas", None) != 1 or not isinstance(workers.get("replicas"), int):
        return {}
    if not (launcher.keys() <= LAUNCHER_FIELDS and workers.keys() <= WORKER_FIELDS):
        return {}
    both = LAUNCHER_FIELDS & WORKER_FIELDS
    shared, others = ({key: role[key] for key in both & role.keys()} for role in (launcher, workers))
    return launcher | workers if is_same_data(shared, others) else {}


def _drop_name(role: Fields) -> Fields:
    return {key: value for key, value in role.items() if key != "name"}


def _decompile_processes(value: object, roles: list[Fields]) -> Fields:
    roles = [role for role in roles if role["name"] == "Worker"] or roles  # compiling reads these
    if isinstance(value, str) and value.isascii() and value.isdigit() and str(int(value)) == value:
        return decompile_processes(int(value), roles)
    if isinstance(value, str) and value in _PROCESS_WORDS:
        return {"torchrun": {"procPerNode": value}}
    return decompile_processes(value, roles) if isinstance(value, int) else {}


def _decompile_elastic(spec: Fields) -> Fields:
    policy = spec.get("elasticPolicy")
    if not isinstance(policy, dict):
        return {}
    torchrun = pick_renamed(policy, {"maxRestarts": "maxRestarts", "rdzvBackend": "rdzvBackend"})
    bounds = pick_renamed(policy, {"minReplicas": "min", "maxReplicas": "max"})
    return {"elastic": bounds, **({"torchrun": torchrun} if torchrun else {})}


def _decompile_run_policy(spec: Fields) -> Fields:
    policy = as_mapping(spec.get("runPolicy"))
    fields = pick_renamed(policy, {"backoffLimit": "retries"})
    if policy.get("cleanPodPolicy") in _CLEAN_UP_NAMES:
        fields["cleanUp"] = _CLEAN_UP_NAMES[policy["cleanPodPolicy"]]
    fields |= decompile_lifecycle(policy)
    schedule = pick_renamed(
        as_mapping(policy.get("schedulingPolicy")), {"queue": "queue", "priorityClass": "priority"}
    )
    return fields | ({"schedule": schedule} if schedule else {})
