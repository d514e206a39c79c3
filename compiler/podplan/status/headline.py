"""Why a job is in its phase, in a few words for the first line."""

from __future__ import annotations

from podplan.status.job import Observed, leader
from podplan.status.outcome import Outcome
from podplan.status.replicas import NOT_STARTED, how_it_ended, named, plural
from podplan.status.restarts import Ended


def ended_job(outcome: Outcome, ends: list[Ended]) -> str:
    """Why a job has ended. ``ends`` are the replicas that are not started again."""
    concerned = {one.name for one in outcome.decision.replicas}
    if outcome.phase == "Failed" and any(one.replica.name in concerned for one in ends):
        return f"{outcome.why}, and {plural([*concerned], 'is', 'are')} not started again"
    return outcome.why


def living_job(job: Observed, phase: str, ends: list[Ended]) -> str:
    """Why a job has not ended: what became of those that did, else who is at work or is waited for."""
    lead = leader(job)
    if phase == "Unknown" and lead is not None:
        return f"{lead.short} decides over the job, and nobody knows what it does"
    told = [*_again([one for one in ends if one.again]), *_down([one for one in ends if not one.again])]
    if told:
        return "; ".join(told)
    waiting = [one for one in job.replicas if one.phase in (*NOT_STARTED, "Deleted")]
    if waiting:
        return f"{len(waiting)} of {_replicas(job)} {plural(waiting, 'has', 'have')} not started"
    running = sum(one.phase == "Running" for one in job.replicas)
    if running == len(job.replicas):
        return {0: "it has no replicas", 1: "its only replica runs"}.get(
            running, f"all {running} replicas run"
        )
    return f"{running} of {_replicas(job)} {'runs' if running == 1 else 'run'}"


def _replicas(job: Observed) -> str:
    return f"{len(job.replicas)} replica{plural(job.replicas, '', 's')}"


def _again(ends: list[Ended]) -> list[str]:
    return [f"{_subject(ends)} and {plural(ends, 'is', 'are')} started again"] if ends else []


def _down(ends: list[Ended]) -> list[str]:
    return (
        [f"{_subject(ends)} and {plural(ends, 'stays', 'stay')} down, which does not end the job"]
        if ends
        else []
    )


def _subject(ends: list[Ended]) -> str:
    """The replicas, and how they ended where it is the same for all."""
    ways = {how_it_ended(one.replica) for one in ends}
    return f"{named([one.replica for one in ends])} {ways.pop() if len(ways) == 1 else 'ended'}"
