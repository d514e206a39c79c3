"""What the controller of JobSet reports of a JobSet and does when its Jobs end.

Source: docs/evidence/jobset.md#end-of-a-jobset.
"""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.kinds.batch.status import BEHAVIORS as JOB_BEHAVIORS
from podplan.kinds.status_rules import JobSetBehaviors, JobsRules

_SOURCE = "docs/evidence/jobset.md#end-of-a-jobset"


def _documented(id_: str, text: str) -> Behavior:
    return Behavior(f"status.jobset.{id_}", text, "documented", _SOURCE)


BEHAVIORS = JobSetBehaviors(
    messages={
        "AllJobsCompleted": "jobset completed successfully",
        "FailedJobs": "jobset failed due to one or more job failures (first failed job: {job})",
        "ReachedMaxRestarts": (
            "jobset failed due to reaching max number of restarts (first failed job: {job})"
        ),
        "FailJobSetFailurePolicyAction": (
            "applying FailJobSet failure policy action (first failed job: {job})"
        ),
        "InOrderStartupPolicyInProgress": "in order startup policy is in progress",
        "InOrderStartupPolicyCompleted": "in order startup policy has completed",
        "DeadlineExceeded": "TrainJob exceeded its active deadline",
    },
    conditions=_documented("conditions", "conditions and their messages are those of JobSet 0.12"),
    success=_documented(
        "success", "a JobSet completes with all Jobs, or with those that its successPolicy states"
    ),
    failure=_documented(
        "failure",
        "the first failed Job ends the JobSet, unless a failurePolicy restarts it, up to maxRestarts times",
    ),
    order=_documented(
        "order",
        "a Job with dependsOn is created when the other one is ready or complete, with startupPolicy InOrder "
        "each when those before it are ready",
    ),
    deadline=_documented("deadline", "each Job has a deadline of its own"),
    clean_up=_documented("clean-up", "when a JobSet ends, its Jobs that run are deleted with their Pods"),
    time_to_live=_documented(
        "time-to-live", "ttlSecondsAfterFinished deletes the JobSet with its Jobs after its end"
    ),
    suspend=_documented("suspend", "the Jobs of a suspended JobSet are suspended"),
)
STATUS_RULES = JobsRules(
    JOB_BEHAVIORS,
    BEHAVIORS,
    complete_type="Completed",
    suspended=("SuspendedJobs", "jobset is suspended"),
    statuses_field="replicatedJobsStatus",
)
