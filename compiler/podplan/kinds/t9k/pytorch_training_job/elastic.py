"""The number of Pods of each replica type of an elastic PyTorchTrainingJob."""

from __future__ import annotations

from podplan.core.provenance import Behavior, Cause, Cursor
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.job import JobContext, ReplicaType
from podplan.kinds.t9k.pytorch_training_job import behaviors as kind_behaviors


def is_elastic(job: JobContext) -> bool:
    """Whether the job is elastic, which requires torchrun.

    Source: docs/evidence/t9k-pytorchtrainingjob.md#elastic-only-under-torchrun.
    """
    return (
        job.spec.get("elastic", "enabled").value is True
        and job.spec.get("torchrunConfig", "enabled").value is True
    )


def distribute_replicas(job: JobContext, replica_types: list[ReplicaType]) -> list[ReplicaType]:
    """Return the replica types of an elastic job with their shares of expectedReplicas; of others,
    unchanged."""
    expected = job.spec.get("elastic", "expectedReplicas")
    if not is_elastic(job) or not expected.exists or not replica_types:
        return replica_types
    rounding = job.options.resolve_behavior(kind_behaviors.ELASTIC_SHARES)
    weights = [role.entry.get("scalingWeight").value_or(1) for role in replica_types]
    return [
        role._replace(
            replicas=share, replica_origins=_find_share_origins(role, expected, len(replica_types), rounding)
        )
        for role, share in zip(
            replica_types, divide_by_weight(expected.value, weights, rounding.value), strict=True
        )
    ]


def _find_share_origins(
    replica_type: ReplicaType, expected: Cursor, type_count: int, rounding: Behavior
) -> tuple[Cause, ...]:
    if type_count == 1:
        return (expected, behaviors.ELASTIC_REPLICAS)
    return (expected, replica_type.entry.get("scalingWeight"), rounding)


def divide_by_weight(total: int, weights: list[int], rounding: str = "largest-remainder") -> list[int]:
    """Divide ``total`` in proportion to ``weights``: integer parts first, then by largest remainder.

    With ``rounding`` "first" or "last", the whole remainder goes to that part.
    """
    weight_sum = sum(weights)
    if weight_sum <= 0:
        return [total if i == 0 else 0 for i in range(len(weights))]
    parts = [total * weight // weight_sum for weight in weights]
    if rounding in ("first", "last"):
        parts[0 if rounding == "first" else -1] += total - sum(parts)
        return parts
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % weight_sum), i))
    for i in by_remainder[: total - sum(parts)]:
        parts[i] += 1
    return parts
