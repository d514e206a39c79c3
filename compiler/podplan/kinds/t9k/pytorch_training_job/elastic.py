"""How many Pods of which type an elastic PyTorchTrainingJob has."""

from __future__ import annotations

from podplan.core.provenance import Cursor, Fact, Why
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.job import Job, Role


def elastic(job: Job) -> bool:
    """Whether the job is elastic, which it is only under torchrun.

    Source: docs/evidence/t9k-pytorchtrainingjob.md#elastic-only-under-torchrun.
    """
    return (
        job.spec.get("elastic", "enabled").value is True
        and job.spec.get("torchrunConfig", "enabled").value is True
    )


def shared_out(job: Job, roles: list[Role]) -> list[Role]:
    """The roles of an elastic job with their shares of expectedReplicas; of any other, as they are."""
    expected = job.spec.get("elastic", "expectedReplicas")
    if not elastic(job) or not expected.exists or not roles:
        return roles
    rounding = job.options.fact(behaviors.ELASTIC_SHARES)
    weights = [role.where.get("scalingWeight").otherwise(1) for role in roles]
    return [
        role._replace(replicas=share, counted=_counted(role, expected, len(roles), rounding))
        for role, share in zip(roles, shares(expected.value, weights, rounding.value), strict=True)
    ]


def _counted(role: Role, expected: Cursor, types: int, rounding: Fact) -> tuple[Why, ...]:
    if types == 1:
        return (expected, behaviors.ELASTIC_REPLICAS)
    return (expected, role.where.get("scalingWeight"), rounding)


def shares(total: int, weights: list[int], rest: str = "largest-remainder") -> list[int]:
    """``total`` divided in proportion to ``weights``: whole parts first, then by largest remainder.

    Where the ``rest`` is for the "first" or the "last", all that is left over goes there.
    """
    whole = sum(weights)
    if whole <= 0:
        return [total if i == 0 else 0 for i in range(len(weights))]
    parts = [total * weight // whole for weight in weights]
    if rest in ("first", "last"):
        parts[0 if rest == "first" else -1] += total - sum(parts)
        return parts
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for i in by_remainder[: total - sum(parts)]:
        parts[i] += 1
    return parts
