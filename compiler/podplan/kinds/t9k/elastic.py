"""The minimum and maximum number of replicas of an elastic job, for the PodGroup and the launcher."""

from __future__ import annotations

from podplan.core.provenance import Cause, Cursor
from podplan.core.typing import NamedTuple
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.job import JobContext, ReplicaType


class ElasticBounds(NamedTuple):
    """The minimum and maximum number of replicas, with origins; ``is_written`` if the CR states one of
    them."""

    minimum: int
    minimum_origins: tuple[Cause, ...]
    maximum: int
    maximum_origins: tuple[Cause, ...]
    is_written: bool


def resolve_elastic_bounds(job: JobContext, replica_types: list[ReplicaType]) -> ElasticBounds:
    """Resolve the bounds of an elastic job whose ``replica_types`` have the number of replicas that are
    created."""
    elastic_section = job.spec.get("elastic")
    min_replicas, max_replicas = elastic_section.get("minReplicas"), elastic_section.get("maxReplicas")
    behavior = job.options.resolve_behavior(behaviors.ELASTIC_MISSING_BOUND)
    count = sum(role.replicas for role in replica_types)
    replica_origins: tuple[Cause, ...] = tuple(why for role in replica_types for why in role.replica_origins)

    def resolve_bound(own_field: Cursor, other_field: Cursor) -> tuple[int, tuple[Cause, ...]]:
        if own_field.exists:
            return int(own_field.value), (own_field,)
        if other_field.exists and behavior.value == "other-bound":
            return int(other_field.value), (behavior, other_field)
        return count, (behavior, *replica_origins)

    lowest, lowest_origins = resolve_bound(min_replicas, max_replicas)
    highest, highest_origins = resolve_bound(max_replicas, min_replicas)
    # torchrun rejects a range whose end is below its start.
    if not min_replicas.exists and lowest > highest:
        lowest, lowest_origins = highest, highest_origins
    elif not max_replicas.exists and highest < lowest:
        highest, highest_origins = lowest, lowest_origins
    return ElasticBounds(
        lowest, lowest_origins, highest, highest_origins, min_replicas.exists or max_replicas.exists
    )
