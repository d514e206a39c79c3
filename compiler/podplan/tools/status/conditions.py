"""The conditions of a job, in the order and the words of the controllers.

Source: docs/evidence/t9k-common.md#conditions.
"""

from __future__ import annotations

from podplan.core.provenance import Fact
from podplan.core.typing import NamedTuple
from podplan.kinds.t9k.behaviors import job_status
from podplan.tools.status.observed_job import Observed
from podplan.tools.status.outcome import Outcome, said
from podplan.tools.status.replicas import Replica

NOT_ENDED = "NotFinished"
NOTHING = "-"


class Condition(NamedTuple):
    """A condition, and the fact that its words rest on."""

    type: str
    status: bool
    reason: str
    message: str
    fact: Fact


def conditions(job: Observed, phase: str, outcome: Outcome) -> list[Condition]:
    """The conditions of a job in ``phase``; an outcome without a phase means that it has not ended."""
    if outcome.phase:
        life = _ended(outcome)
    elif phase == "Paused":
        life = _paused(job)
    else:
        life = _living(job, phase)
    initialized = _says(job, "Initialized", True, NOTHING, job_status.SAYS_INITIALIZED)
    return [initialized, *life, _replica_failure(job, outcome)]


def _says(job: Observed, type_: str, status: bool, reason: str, fact: Fact) -> Condition:
    fact = job.options.fact(fact)
    return Condition(type_, status, reason, said(fact, job), fact)


def _ended(outcome: Outcome) -> list[Condition]:
    failed = outcome.phase == "Failed"
    return [
        Condition(type_, status, outcome.phase, outcome.message, outcome.says)
        for type_, status in (("Running", False), ("Failed", failed), ("Completed", True))
    ]


def _paused(job: Observed) -> list[Condition]:
    return [
        _says(job, "Running", False, "Paused", job_status.SAYS_PAUSED),
        _says(job, "Paused", True, "Paused", job_status.SAYS_PAUSED),
        *_not_ended(job),
    ]


def _living(job: Observed, phase: str) -> list[Condition]:
    if phase != "Running":
        running = _says(job, "Running", False, NOTHING, job_status.SAYS_NOT_STARTED)
    elif _failed(job) is None:
        running = _says(job, "Running", True, NOTHING, job_status.SAYS_NORMAL)
    else:
        running = _says(job, "Running", True, NOTHING, job_status.SAYS_NOT_ENDED)
    return [running, *_not_ended(job)]


def _not_ended(job: Observed) -> list[Condition]:
    return [
        _says(job, "Failed", False, NOT_ENDED, job_status.SAYS_NOT_ENDED),
        _says(job, "Completed", False, NOT_ENDED, job_status.SAYS_STILL_RUNNING),
    ]


def _replica_failure(job: Observed, outcome: Outcome) -> Condition:
    failed = _failed(job)
    if outcome.phase == "Failed" and job.kind.failure_says_so:
        return Condition("ReplicaFailure", True, outcome.phase, outcome.message, outcome.says)
    if outcome.phase == "Succeeded" and job.kind.says_finished is not None:
        return _says(job, "ReplicaFailure", False, "Finished", job.kind.says_finished)
    if failed is None:
        return _says(job, "ReplicaFailure", False, NOTHING, job_status.SAYS_NORMAL)
    fact = job.options.fact(job_status.SAYS_REPLICA_FAILED)
    return Condition("ReplicaFailure", True, "ErrorInPod", said(fact, job, failed), fact)


def _failed(job: Observed) -> Replica | None:
    """The first replica that was seen to have failed."""
    return next((one for one in job.replicas if one.phase == "Failed"), None)
