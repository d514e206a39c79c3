"""From a JobSet to the objects that its controller and that of Jobs create."""

from __future__ import annotations

from podplan.core.provenance import Cursor
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.jobset.lower import lower_job_set
from podplan.kinds.spec import References


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """The objects of a JobSet (docs/evidence/jobset.md)."""
    return lower_job_set(cr, options)
