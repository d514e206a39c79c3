"""What the rest of podplan may ask about Jobs."""

from __future__ import annotations

from podplan.kinds.batch.validation import validate_job
from podplan.kinds.spec import KindSpec, QueueIntegration


def load_queue_integration() -> QueueIntegration:
    """How Kueue sees Jobs."""
    from podplan.kinds.batch.job import queueing

    return queueing.INTEGRATION


# A Job may be anything: besides its queue, only what holds for each Pod is checked of it.
SPEC = KindSpec(
    plural="jobs",
    option_prefix="job",
    validate_cr=validate_job,
    owner_label="batch.kubernetes.io/job-name",
    load_queue_integration=load_queue_integration,
    traits=frozenset(("kueue",)),
)
