"""Why a job is in its phase, in a few words for the first line."""

from __future__ import annotations

from podplan.tools.status.observed_job import Observed, leader
from podplan.tools.status.outcome import Outcome
from podplan.tools.status.replicas import NOT_STARTED, how_it_ended, named, plural
from podplan.tools.status.restarts import Ended

_LATE = (*NOT_STARTED, "Deleted")


def ended_job(outcome: Outcome, ends: list[Ended]) -> str:
    """Why a job has ended. ``ends`` are the replicas that could have been started again."""
    concerned = {one.name for one in outcome.decision.replicas}
    if outcome.phase == "Failed" and outcome.adds and any(one.replica.name in concerned for one in ends):
        return f"{outcome.why}, and {plural([*concerned], 'is', 'are')} not started again"
    return outcome.why


def living_job(job: Observed, phase: str, ends: list[Ended]) -> str:
    """Why a job has not ended: what became of those that did, else who is at work or is waited for."""
    lead = leader(job)
    if phase == "Unknown" and lead is not None:
        return f"{lead.short} decides over the job, and nobody knows what it does"
    told = [*_again([one for one in ends if one.again]), *_down([one for one in ends if not one.again])]
    return "; ".join(told) or _at_work(job, phase)


def _again(ends: list[Ended]) -> list[str]:
    return [f"{_subject(ends)} and {plural(ends, 'is', 'are')} started again"] if ends else []


def _down(ends: list[Ended]) -> list[str]:
    stay = plural(ends, "stays", "stay")
    return [f"{_subject(ends)} and {stay} down, which does not end the job"] if ends else []


def _subject(ends: list[Ended]) -> str:
    """The replicas, and how they ended where it is the same for all."""
    ways = {how_it_ended(one.replica) for one in ends}
    return f"{named([one.replica for one in ends])} {ways.pop() if len(ways) == 1 else 'ended'}"


def _at_work(job: Observed, phase: str) -> str:
    """How many replicas run, and how many have not started."""
    whole = len(job.replicas)
    late = sum(one.phase in _LATE for one in job.replicas)
    running = sum(one.phase == "Running" for one in job.replicas)
    waits = f"{_so_many(late, whole)} {'has' if late == 1 else 'have'} not started"
    works = f"{_so_many(running, whole)} {'runs' if running == 1 else 'run'}"
    if whole == 0:
        return "it has no replicas"
    if late and (phase != "Running" or not running):
        return waits
    if late:
        return f"{works}, and {late} {'has' if late == 1 else 'have'} not started"
    return works if running else f"{_so_many(whole, whole)} ended, which does not end the job"


def _so_many(number: int, whole: int) -> str:
    """So many replicas of the whole, as the subject of a sentence."""
    if number == whole:
        return {1: "the only replica", 2: "both replicas"}.get(number, f"all {number} replicas")
    return f"{number} of {whole} replicas"
