"""The reason for the phase of a job, in a few words for the headline."""

from __future__ import annotations

from podplan.tools.status.observed_job import ObservedJob, find_leader
from podplan.tools.status.outcome import JobOutcome
from podplan.tools.status.replicas import NOT_STARTED_PHASES, describe_end, format_replicas, select_plural
from podplan.tools.status.restarts import EndedReplica

_NOT_STARTED_PHASES = (*NOT_STARTED_PHASES, "Deleted")


def explain_ended_job(outcome: JobOutcome, ended_replicas: list[EndedReplica]) -> str:
    """Explain why a job has ended. ``ended_replicas`` are those that could have been restarted."""
    deciding_names = {one.name for one in outcome.decision.replicas}
    if (
        outcome.phase == "Failed"
        and outcome.mentions_restarts
        and any(one.replica.name in deciding_names for one in ended_replicas)
    ):
        return f"{outcome.explanation}, and {select_plural([*deciding_names], 'is', 'are')} not started again"
    return outcome.explanation


def explain_active_job(job: ObservedJob, phase: str, ended_replicas: list[EndedReplica]) -> str:
    """Explain why a job has not ended: the replicas that ended, else those that run or are waited for."""
    leading_replica = find_leader(job)
    if phase == "Unknown" and leading_replica is not None:
        return f"{leading_replica.short_name} decides over the job, and nobody knows what it does"
    sentences = [
        *_explain_restarts([one for one in ended_replicas if one.is_restarted]),
        *_explain_stopped([one for one in ended_replicas if not one.is_restarted]),
    ]
    return "; ".join(sentences) or _explain_activity(job, phase)


def _explain_restarts(ended_replicas: list[EndedReplica]) -> list[str]:
    return (
        [f"{_format_subject(ended_replicas)} and {select_plural(ended_replicas, 'is', 'are')} started again"]
        if ended_replicas
        else []
    )


def _explain_stopped(ended_replicas: list[EndedReplica]) -> list[str]:
    verb = select_plural(ended_replicas, "stays", "stay")
    return (
        [f"{_format_subject(ended_replicas)} and {verb} down, which does not end the job"]
        if ended_replicas
        else []
    )


def _format_subject(ended_replicas: list[EndedReplica]) -> str:
    """Return the replicas as a subject, with how they ended if that is the same for all."""
    end_texts = {describe_end(one.replica) for one in ended_replicas}
    return (
        f"{format_replicas([one.replica for one in ended_replicas])}"
        f" {end_texts.pop() if len(end_texts) == 1 else 'ended'}"
    )


def _explain_activity(job: ObservedJob, phase: str) -> str:
    """Return how many replicas run, and how many have not started."""
    total = len(job.replicas)
    waiting_count = sum(one.phase in _NOT_STARTED_PHASES for one in job.replicas)
    running_count = sum(one.phase == "Running" for one in job.replicas)
    waiting_text = (
        f"{_format_count(waiting_count, total)} {'has' if waiting_count == 1 else 'have'} not started"
    )
    running_text = f"{_format_count(running_count, total)} {'runs' if running_count == 1 else 'run'}"
    if total == 0:
        return "it has no replicas"
    if waiting_count and (phase != "Running" or not running_count):
        return waiting_text
    if waiting_count:
        return f"{running_text}, and {waiting_count} {'has' if waiting_count == 1 else 'have'} not started"
    return (
        running_text if running_count else f"{_format_count(total, total)} ended, which does not end the job"
    )


def _format_count(number: int, total: int) -> str:
    """Return a number of replicas out of the total, as the subject of a sentence."""
    if number == total:
        return {1: "the only replica", 2: "both replicas"}.get(number, f"all {number} replicas")
    return f"{number} of {total} replicas"
