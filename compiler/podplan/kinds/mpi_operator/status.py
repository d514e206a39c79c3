"""What the MPI Operator reports of a job and does when its launcher ends.

Source: docs/evidence/mpi-operator.md#end-of-a-job.
"""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.kinds.batch.status import BEHAVIORS as JOB_BEHAVIORS
from podplan.kinds.status_rules import EndingBehaviors, LauncherRules

_SOURCE = "docs/evidence/mpi-operator.md#end-of-a-job"


def _documented(id_: str, text: str) -> Behavior:
    return Behavior(f"status.mpi-operator.{id_}", text, "documented", _SOURCE)


BEHAVIORS = EndingBehaviors(
    conditions=_documented("conditions", "conditions and their messages are those of operator 0.8"),
    success=_documented("success", "a job succeeds with the Job of its launcher; workers do not count"),
    failure=_documented("failure", "a job fails with the Job of its launcher, or when a worker is evicted"),
    restarts=_documented("restarts", "a worker that has failed is not created again"),
    deadline=JOB_BEHAVIORS.deadline,
    retries=JOB_BEHAVIORS.failure,
    clean_up=_documented(
        "clean-up",
        "cleanPodPolicy deletes no workers (None), those that run or wait (Running) or all, and never the "
        "launcher",
    ),
    time_to_live=_documented(
        "time-to-live", "ttlSecondsAfterFinished deletes the Job of the launcher, not the job itself"
    ),
    suspend=_documented(
        "suspend", "a suspended job has no workers, and the Job of its launcher is suspended"
    ),
)
STATUS_RULES = LauncherRules(
    JOB_BEHAVIORS,
    BEHAVIORS,
    launcher="Launcher",
    worker="Worker",
    messages={
        "created": "MPIJob {namespace}/{job} is created.",
        "running": "MPIJob {namespace}/{job} is running.",
        "succeeded": "MPIJob {namespace}/{job} successfully completed.",
        "suspended": "MPIJob suspended",
        "not-running": "MPIJob {namespace}/{job} is suspended.",
        "evicted": "{count}/{total} workers are evicted",
    },
)
