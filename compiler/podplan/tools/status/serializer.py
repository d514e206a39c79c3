"""Writes the status as the controller does, with keys in the order in which kubectl prints them."""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.kinds.status_rules import EndingRules
from podplan.tools.status.conditions import Condition
from podplan.tools.status.replicas import ContainerState
from podplan.tools.status.result import ReplicaTransition, StatusResult


def build_status(result: StatusResult) -> dict[str, Any]:
    """Build the status. Restart counts of 0 are omitted, as in the status of real jobs."""
    if result.reported is not None:
        conditions = [_build_condition(one) for one in result.conditions]
        return {**({"conditions": conditions} if conditions else {}), **result.reported}
    if isinstance(result.job.status_rules, EndingRules):
        return {
            "conditions": [_build_condition(one) for one in result.conditions],
            "replicaStatuses": _build_replica_statuses(result),
        }
    kind = result.job.rules
    total = sum(result.restarts.values())
    backoff_count = (
        {"backoffCount": total}
        if total and kind.shares_restarts and kind.restart_policy_path is not None
        else {}
    )
    return {
        "aggregate": result.aggregate,
        **backoff_count,
        "conditions": [_build_condition(one) for one in result.conditions],
        "phase": result.phase,
        "tasks": [
            _build_task(type_, replicas, result.restarts[type_]) for type_, replicas in result.by_type.items()
        ],
    }


def _build_replica_statuses(result: StatusResult) -> dict[str, dict[str, int]]:
    """Build the counts by replica type; after success the controller counts running Pods as succeeded."""
    statuses: dict[str, dict[str, int]] = {}
    rules = result.job.ending_rules
    main_ended = any(one.type in rules.main_types and one.has_ended for one in result.job.replicas)
    for type_, transitions in result.by_type.items():
        if main_ended and not rules.counts_others_after_main and type_ not in rules.main_types:
            statuses[type_] = {}
            continue
        phases = [one.observed.phase if one.is_deleted else one.phase for one in transitions]
        active, succeeded, failed = (phases.count(one) for one in ("Running", "Succeeded", "Failed"))
        if result.phase == "Succeeded":
            active, succeeded = 0, active + succeeded
        counts = {"active": active, "failed": failed, "succeeded": succeeded}
        statuses[type_] = {key: count for key, count in counts.items() if count}
    return statuses


def _build_condition(condition: Condition) -> dict[str, Any]:
    return {
        "message": condition.message,
        "reason": condition.reason,
        "status": str(condition.status),
        "type": condition.type,
    }


def _build_task(type_: str, replicas: list[ReplicaTransition], restarts: int) -> dict[str, Any]:
    replica_entries = [_build_replica(one) for one in replicas]
    return {"replicas": replica_entries, **({"restartCount": restarts} if restarts else {}), "type": type_}


def _build_replica(transition: ReplicaTransition) -> dict[str, Any]:
    """Build a replica with its Pod; of a new or deleted one only the name is known."""
    if transition.phase != transition.observed.phase:
        return {"name": transition.observed.name, "phase": transition.phase}
    containers = [_build_container(container) for container in transition.observed.containers]
    return {
        **({"containers": containers} if containers else {}),
        "name": transition.observed.name,
        "phase": transition.phase,
        **({"uid": transition.observed.uid} if transition.observed.uid else {}),
    }


def _build_container(container: ContainerState) -> dict[str, Any]:
    code = {} if container.exit_code is None else {"exitCode": container.exit_code}
    return {**code, "name": container.name, "state": container.state}
