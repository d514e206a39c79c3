"""A runtime becomes nothing by itself: its TrainJobs do."""

from __future__ import annotations

from podplan.core.provenance import Cursor
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.spec import References


def lower(_cr: Cursor, _references: References, _options: LoweringOptions) -> list[ReplicaGroup]:
    """No objects."""
    return []
