"""Status of jobs of the training operator, and its actions when Pods end.

Source: docs/evidence/training-operator.md#end-of-a-job.
"""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.core.typing import Any
from podplan.kinds.kubeflow.training_kind import TrainingKind
from podplan.kinds.status_rules import EndingBehaviors, EndingRules

_SOURCE = "docs/evidence/training-operator.md#end-of-a-job"


def _verified(id_: str, text: str) -> Behavior:
    return Behavior(f"status.training-operator.{id_}", text, "verified", _SOURCE)


def _documented(id_: str, text: str) -> Behavior:
    return Behavior(f"status.training-operator.{id_}", text, "documented", _SOURCE)


BEHAVIORS = EndingBehaviors(
    conditions=_verified("conditions", "conditions and their messages are those of operator 1.9"),
    success=_verified(
        "success", "a job succeeds with its main replica, without one by its workers; others do not count"
    ),
    failure=_verified(
        "failure", "a job fails with the first replica that has failed and is not created again"
    ),
    restarts=_verified(
        "restarts",
        "the restart policy decides over a Pod that has failed: Never fails the job, ExitCode creates it "
        "again after codes from 128 on; with OnFailure and Always containers restart in place, and a Pod "
        "fails by eviction or with its node",
    ),
    deadline=_documented("deadline", "the job fails once it is older than activeDeadlineSeconds"),
    retries=_documented(
        "retries",
        "the job fails once the restarts of running containers reach backoffLimit, which has no default",
    ),
    clean_up=_verified(
        "clean-up",
        "cleanPodPolicy deletes nothing (None), Pods that run or wait (Running) or all Pods (any other "
        "value), each with its Service",
    ),
    time_to_live=_verified("time-to-live", "ttlSecondsAfterFinished deletes the job itself after its end"),
    no_end_time=_documented(
        "no-end-time",
        "a job that fails by an exit code below 128 with ExitCode gets no completionTime (recorded), and the "
        "operator cannot count its time to live (source)",
    ),
    suspend=_verified("suspend", "a suspended job has no Pods, no Services and no PodGroup"),
    empty_main=_verified("empty-main", "a job whose main replica type has replicas: 0 succeeds at once"),
    empty_workers=_documented(
        "empty-workers",
        "the operator compares the replicas that have succeeded with replicas, and 0 of 0 is all of them",
    ),
)
_MESSAGES = {
    "created": "{kind} {job} is created.",
    "running": "{kind} {job} is running.",
    "running-workers": "{kind} {namespace}/{job} is running.",
    "succeeded": "{kind} {job} is successfully completed.",
    "failed": "{kind} {job} is failed because {count} {type} replica(s) failed.",
    "failing": 'job "{job}" is failing because "{type}" replica(s) failed.',
    "restarting": "job {job} is restarting because {type} replica(s) failed.",
    "suspended": "{kind} {job} is suspended.",
    "deadline": "Job {job} has failed because it was active longer than specified deadline",
    "retries": "Job {job} has failed because it has reached the specified backoff limit",
}
_RECREATED = {"OnFailure": "recreate", "Always": "recreate", "ExitCode": "recreate"}


def build_status_rules(
    kind: TrainingKind, messages: dict[str, str] | None = None, **answers: Any
) -> EndingRules:
    """Build the status rules of a kind; ``messages`` and ``answers`` are specific to the kind."""
    values = {"failed_pods": _RECREATED, "keeps_time_of_final_code": False, **answers}
    return EndingRules(
        behaviors=BEHAVIORS,
        main_types=kind.main_types,
        default_restart_policy=kind.restart_policy,
        messages={**_MESSAGES, **(messages or {})},
        **values,
    )
