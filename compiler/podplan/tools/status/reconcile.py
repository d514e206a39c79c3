"""From a job as it was seen to what the controller does next and reports."""

from __future__ import annotations

from collections.abc import Collection

from podplan.kinds.t9k.behaviors import job_status, termination
from podplan.tools.status import reason
from podplan.tools.status.clean_up import cleaned
from podplan.tools.status.completion import outcome
from podplan.tools.status.conditions import conditions
from podplan.tools.status.observed_job import Decision, Observed, restarted_before
from podplan.tools.status.outcome import Outcome, undecided
from podplan.tools.status.phase import PAUSE_AT, paused, phase_of
from podplan.tools.status.replicas import Replica, named, plural
from podplan.tools.status.restarts import decisions, ended
from podplan.tools.status.result import After, Result


def act(job: Observed) -> Result:
    """What the controller reports of a job, and its decisions with their reasons."""
    if paused(job):
        return _pause(job)
    ends = ended(job)
    again = {one.replica.name for one in ends if one.again}
    final = {
        one.name: one.phase == "Succeeded" for one in job.replicas if one.ended and one.name not in again
    }
    result = outcome(job, final)
    if result.phase:
        ends = [one._replace(restart=0, why="job") if one.again else one for one in ends]
        return _end(job, result, (*decisions(ends), result.decision), reason.ended_job(result, ends))
    restarts = _restarts(job, again)
    phase, fact = phase_of(job, any(restarts.values()))
    gone = [one for one in job.replicas if one.phase == "Deleted"]
    return Result(
        job,
        phase,
        fact,
        reason.living_job(job, phase, ends),
        tuple(_living(one, again) for one in job.replicas),
        tuple(conditions(job, phase, result)),
        (*decisions(ends), *_create(gone), result.decision, cleaned(job, False).decision),
        restarts,
    )


def _end(job: Observed, result: Outcome, told: tuple[Decision, ...], why: str) -> Result:
    """A job that has ended: nothing is started again, and Pods are cleaned up."""
    clean = cleaned(job, True)
    deleted = {one.name for one in clean.deleted}
    return Result(
        job,
        result.phase,
        result.decision.fact,
        why,
        tuple(_deleted(one) if one.name in deleted else After(one, one.phase) for one in job.replicas),
        tuple(conditions(job, result.phase, result)),
        (*told, clean.decision),
        _restarts(job, ()),
    )


def _pause(job: Observed) -> Result:
    there = tuple(one for one in job.replicas if one.phase != "Deleted")
    what = f"{named(there)} {plural(there, 'is', 'are')} deleted" if there else "no Pods are made"
    decision = Decision("pause", f"{what}: the job is paused", job_status.PAUSE, there, PAUSE_AT)
    return Result(
        job,
        "Paused",
        job_status.PAUSE,
        "it is in pause mode, and has no Pods",
        tuple(After(one, one.phase) if one.phase == "Deleted" else _deleted(one) for one in job.replicas),
        tuple(conditions(job, "Paused", undecided(decision))),
        (decision,),
        _restarts(job, ()),
    )


def _deleted(one: Replica) -> After:
    return After(one, "Deleted", deleted=True)


def _living(one: Replica, again: Collection[str]) -> After:
    """A replica of a job that has not ended: created anew if it is started again, or was gone."""
    restarted = one.name in again
    return After(one, "Creating" if restarted or one.phase == "Deleted" else one.phase, restarted=restarted)


def _create(gone: list[Replica]) -> list[Decision]:
    if not gone:
        return []
    text = (
        f"{named(gone)} {plural(gone, 'is', 'are')} gone, and created anew; that is not counted as a restart"
    )
    return [Decision("create", text, termination.REPLICA_GONE, tuple(gone))]


def _restarts(job: Observed, again: Collection[str]) -> dict[str, int]:
    """The restarts of each type, those of ``again`` included."""
    found = restarted_before(job)
    for one in job.replicas:
        found[one.type] += one.name in again
    return found
