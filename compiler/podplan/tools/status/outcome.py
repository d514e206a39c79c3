"""The end of a job, and the messages of its conditions."""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.core.typing import NamedTuple
from podplan.tools.status.observed_job import ControllerDecision, ObservedJob
from podplan.tools.status.replicas import ObservedReplica


class JobOutcome(NamedTuple):
    """How a job ends: ``phase`` is Succeeded, Failed or "" for not yet; ``message`` is that of the
    conditions.

    ``explanation`` is the reason, for a headline; with ``mentions_restarts`` the headline may add that
    nothing is restarted.
    """

    phase: str
    explanation: str
    decision: ControllerDecision
    message_behavior: Behavior
    message: str = ""
    mentions_restarts: bool = True


def build_undecided(job: ObservedJob, decision: ControllerDecision) -> JobOutcome:
    """Build the outcome of a job that continues."""
    return JobOutcome("", "", decision, job.rules.behaviors.still_running_message)


def build_success(job: ObservedJob, explanation: str, decision: ControllerDecision) -> JobOutcome:
    """Build the outcome of a job that has succeeded, with the reason ``explanation``."""
    behavior = job.options.resolve_behavior(job.rules.behaviors.succeeded_message)
    return JobOutcome("Succeeded", explanation, decision, behavior, format_message(behavior, job))


def build_failure(
    job: ObservedJob,
    explanation: str,
    decision: ControllerDecision,
    message_behavior: Behavior,
    *,
    replica: ObservedReplica | None = None,
    rule: str = "",
) -> JobOutcome:
    """Build the outcome of a failed job; ``message_behavior`` is a message about a replica or a rule."""
    behavior = job.options.resolve_behavior(message_behavior)
    return JobOutcome(
        "Failed",
        explanation,
        decision,
        behavior,
        format_message(behavior, job, replica).replace("{rule}", rule),
    )


def format_message(behavior: Behavior, job: ObservedJob, replica: ObservedReplica | None = None) -> str:
    """Return the message of a behavior with the names and numbers of a job and a replica filled in."""
    text = str(behavior.value).replace("{kind}", job.cr["kind"]).replace("{job}", job.name)
    if replica is None:
        return text
    code = "unknown" if replica.exit_code is None else str(replica.exit_code)
    return text.replace("{pod}", replica.name).replace("{code}", code)
