"""The conditions of a job, with the order and the messages of the controllers.

Source: docs/evidence/t9k-common.md#conditions.
"""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.core.typing import NamedTuple
from podplan.tools.status.observed_job import ObservedJob
from podplan.tools.status.outcome import JobOutcome, format_message
from podplan.tools.status.replicas import ObservedReplica

NOT_ENDED_REASON = "NotFinished"
NO_REASON = "-"


class Condition(NamedTuple):
    """A condition, and the behavior that its message is based on."""

    type: str
    status: bool
    reason: str
    message: str
    behavior: Behavior


def build_conditions(job: ObservedJob, phase: str, outcome: JobOutcome) -> list[Condition]:
    """Build the conditions of a job in ``phase``; an outcome without a phase means that it has not ended."""
    if outcome.phase:
        life_conditions = _build_ended_conditions(outcome)
    elif phase == "Paused":
        life_conditions = _build_paused_conditions(job)
    else:
        life_conditions = _build_active_conditions(job, phase)
    initialized = _build_condition(
        job, "Initialized", True, NO_REASON, job.rules.behaviors.initialized_message
    )
    return [initialized, *life_conditions, _build_replica_failure(job, outcome)]


def _build_condition(
    job: ObservedJob, type_: str, status: bool, reason: str, behavior: Behavior
) -> Condition:
    behavior = job.options.resolve_behavior(behavior)
    return Condition(type_, status, reason, format_message(behavior, job), behavior)


def _build_ended_conditions(outcome: JobOutcome) -> list[Condition]:
    failed = outcome.phase == "Failed"
    return [
        Condition(type_, status, outcome.phase, outcome.message, outcome.message_behavior)
        for type_, status in (("Running", False), ("Failed", failed), ("Completed", True))
    ]


def _build_paused_conditions(job: ObservedJob) -> list[Condition]:
    return [
        _build_condition(job, "Running", False, "Paused", job.rules.behaviors.paused_message),
        _build_condition(job, "Paused", True, "Paused", job.rules.behaviors.paused_message),
        *_build_not_ended_conditions(job),
    ]


def _build_active_conditions(job: ObservedJob, phase: str) -> list[Condition]:
    if phase != "Running":
        running = _build_condition(job, "Running", False, NO_REASON, job.rules.behaviors.not_started_message)
    elif _find_failed_replica(job) is None:
        running = _build_condition(job, "Running", True, NO_REASON, job.rules.behaviors.normal_message)
    else:
        running = _build_condition(job, "Running", True, NO_REASON, job.rules.behaviors.not_ended_message)
    return [running, *_build_not_ended_conditions(job)]


def _build_not_ended_conditions(job: ObservedJob) -> list[Condition]:
    return [
        _build_condition(job, "Failed", False, NOT_ENDED_REASON, job.rules.behaviors.not_ended_message),
        _build_condition(
            job, "Completed", False, NOT_ENDED_REASON, job.rules.behaviors.still_running_message
        ),
    ]


def _build_replica_failure(job: ObservedJob, outcome: JobOutcome) -> Condition:
    failed = _find_failed_replica(job)
    if outcome.phase == "Failed" and job.rules.reports_replica_failure:
        return Condition("ReplicaFailure", True, outcome.phase, outcome.message, outcome.message_behavior)
    if outcome.phase == "Succeeded" and job.rules.finished_message is not None:
        return _build_condition(job, "ReplicaFailure", False, "Finished", job.rules.finished_message)
    if failed is None:
        return _build_condition(job, "ReplicaFailure", False, NO_REASON, job.rules.behaviors.normal_message)
    behavior = job.options.resolve_behavior(job.rules.behaviors.replica_failed_message)
    return Condition("ReplicaFailure", True, "ErrorInPod", format_message(behavior, job, failed), behavior)


def _find_failed_replica(job: ObservedJob) -> ObservedReplica | None:
    """Return the first replica whose state is failed."""
    return next((one for one in job.replicas if one.phase == "Failed"), None)
