"""What the rest of podplan may ask about JobSets."""

from __future__ import annotations

from podplan.kinds.jobset.validation import validate_job_set
from podplan.kinds.spec import KindSpec, QueueIntegration


def load_queue_integration() -> QueueIntegration:
    """How Kueue sees JobSets."""
    from podplan.kinds.jobset.queueing import list_pod_sets

    return QueueIntegration(list_pod_sets)


SPEC = KindSpec(
    plural="jobsets",
    option_prefix="jobset",
    validate_cr=validate_job_set,
    unknown_field_rule="SCHEMA012",
    owner_label="jobset.sigs.k8s.io/jobset-name",
    load_queue_integration=load_queue_integration,
    traits=frozenset(("kueue",)),
)
