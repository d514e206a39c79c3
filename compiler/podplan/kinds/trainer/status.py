"""What the controller of Trainer reports of a TrainJob.

Source: docs/evidence/trainer.md#status.
"""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.kinds.batch.status import BEHAVIORS as JOB_BEHAVIORS
from podplan.kinds.jobset.status import BEHAVIORS as JOB_SET_BEHAVIORS
from podplan.kinds.status_rules import JobsRules

_SOURCE = "docs/evidence/trainer.md#status"


def _documented(id_: str, text: str) -> Behavior:
    return Behavior(f"status.trainer.{id_}", text, "documented", _SOURCE)


BEHAVIORS = JOB_SET_BEHAVIORS._replace(
    conditions=_documented(
        "conditions", "Complete and Failed are copied from the JobSet, with reason and message"
    ),
    deadline=_documented(
        "deadline",
        "the TrainJob fails and its JobSet is deleted once it is older than activeDeadlineSeconds, counted "
        "from its creation or from when it was resumed",
    ),
    suspend=_documented("suspend", "the JobSet of a suspended TrainJob is suspended"),
)
STATUS_RULES = JobsRules(
    JOB_BEHAVIORS,
    BEHAVIORS,
    suspended=("Suspended", "TrainJob is suspended"),
    has_own_deadline=True,
    statuses_field="jobsStatus",
)
