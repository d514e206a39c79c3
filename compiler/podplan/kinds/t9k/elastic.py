"""How few and how many replicas an elastic job may have. PodGroup and launcher take the bounds from here."""

from __future__ import annotations

from podplan.core.provenance import Cursor, Why
from podplan.core.typing import NamedTuple
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.job import Job, Role


class Bounds(NamedTuple):
    """The fewest and the most replicas, and where they come from; ``written``: the CR gives one of them."""

    least: int
    least_why: tuple[Why, ...]
    most: int
    most_why: tuple[Why, ...]
    written: bool


def elastic_bounds(job: Job, roles: list[Role]) -> Bounds:
    """The bounds of an elastic job whose ``roles`` have the replicas that are created."""
    section = job.spec.get("elastic")
    least, most = section.get("minReplicas"), section.get("maxReplicas")
    fact = job.options.fact(behaviors.ELASTIC_MISSING_BOUND)
    count = sum(role.replicas for role in roles)
    counted: tuple[Why, ...] = tuple(why for role in roles for why in role.counted)

    def bound(own: Cursor, other: Cursor) -> tuple[int, tuple[Why, ...]]:
        if own.exists:
            return int(own.value), (own,)
        if other.exists and fact.value == "other-bound":
            return int(other.value), (fact, other)
        return count, (fact, *counted)

    lowest, lowest_why = bound(least, most)
    highest, highest_why = bound(most, least)
    # torchrun refuses a range whose end is below its start.
    if not least.exists and lowest > highest:
        lowest, lowest_why = highest, highest_why
    elif not most.exists and highest < lowest:
        highest, highest_why = lowest, lowest_why
    return Bounds(lowest, lowest_why, highest, highest_why, least.exists or most.exists)
