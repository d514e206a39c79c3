"""The status as the controller writes it into the CR, keys in the order in which kubectl prints them."""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.tools.status.conditions import Condition
from podplan.tools.status.replicas import Container
from podplan.tools.status.result import After, Result


def status(result: Result) -> dict[str, Any]:
    """The status. Numbers of restarts that are 0 are left out, as in the status of real jobs."""
    kind = result.job.kind
    total = sum(result.restarts.values())
    counted = {"backoffCount": total} if total and kind.shared and kind.policy is not None else {}
    return {
        "aggregate": result.aggregate,
        **counted,
        "conditions": [_condition(one) for one in result.conditions],
        "phase": result.phase,
        "tasks": [
            _task(type_, replicas, result.restarts[type_]) for type_, replicas in result.by_type.items()
        ],
    }


def _condition(one: Condition) -> dict[str, Any]:
    return {"message": one.message, "reason": one.reason, "status": str(one.status), "type": one.type}


def _task(type_: str, replicas: list[After], restarts: int) -> dict[str, Any]:
    listed = [_replica(one) for one in replicas]
    return {"replicas": listed, **({"restartCount": restarts} if restarts else {}), "type": type_}


def _replica(one: After) -> dict[str, Any]:
    """A replica with its Pod; of one that is new or deleted only the name is known."""
    if one.phase != one.seen.phase:
        return {"name": one.seen.name, "phase": one.phase}
    containers = [_container(container) for container in one.seen.containers]
    return {
        **({"containers": containers} if containers else {}),
        "name": one.seen.name,
        "phase": one.phase,
        **({"uid": one.seen.uid} if one.seen.uid else {}),
    }


def _container(one: Container) -> dict[str, Any]:
    code = {} if one.code is None else {"exitCode": one.code}
    return {**code, "name": one.name, "state": one.state}
