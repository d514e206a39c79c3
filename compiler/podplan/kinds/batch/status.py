"""What the Job controller of Kubernetes reports of a Job and does when its Pods end.

Source: docs/evidence/jobset.md#end-of-a-job.
"""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.kinds.status_rules import JobBehaviors, JobsRules

_SOURCE = "docs/evidence/jobset.md#end-of-a-job"


def _documented(id_: str, text: str) -> Behavior:
    return Behavior(f"status.job.{id_}", text, "documented", _SOURCE)


BEHAVIORS = JobBehaviors(
    messages={
        "CompletionsReached": "Reached expected number of succeeded pods",
        "SuccessPolicy": "Matched rules at index {rule}",
        "BackoffLimitExceeded": "Job has reached the specified backoff limit",
        "DeadlineExceeded": "Job was active longer than specified deadline",
        "PodFailurePolicy": (
            "Container {container} for pod {namespace}/{pod} failed with exit code {code} matching FailJob "
            "rule at index {rule}"
        ),
        "MaxFailedIndexesExceeded": "Job has exceeded the specified maximal number of failed indexes",
        "FailedIndexes": "Job has failed indexes",
    },
    conditions=_documented("conditions", "conditions and their messages are those of Kubernetes 1.36"),
    success=_documented(
        "success",
        "a Job is complete when as many Pods have succeeded as completions states, each index once; earlier "
        "by its successPolicy; without completions, when one has succeeded and none runs",
    ),
    failure=_documented(
        "failure",
        "a Job fails when more Pods have failed than backoffLimit (6), or by its podFailurePolicy or its "
        "limits per index",
    ),
    restarts=_documented(
        "restarts",
        "the controller creates a Pod for each that has failed, after 10 s, 20 s and so on up to 6 minutes; "
        "with restartPolicy OnFailure the kubelet restarts containers inside their Pod",
    ),
    deadline=_documented("deadline", "a Job fails once it has run for activeDeadlineSeconds"),
    clean_up=_documented("clean-up", "when a Job ends, Pods that run are deleted, and those that ended stay"),
    time_to_live=_documented(
        "time-to-live", "ttlSecondsAfterFinished deletes the Job with its Pods after its end"
    ),
    suspend=_documented("suspend", "a suspended Job has no Pods that run"),
)
STATUS_RULES = JobsRules(BEHAVIORS)
