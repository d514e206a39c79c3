"""From a TrainJob and its runtime to the JobSet, and on to its Jobs and Pods."""

from __future__ import annotations

from podplan.core.provenance import Cursor
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.spec import References
from podplan.kinds.trainer.lower import lower_train_job


def lower(cr: Cursor, references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """The objects of a TrainJob (docs/evidence/trainer.md)."""
    return lower_train_job(cr, references[("spec", "runtimeRef", "name")], options)
