"""Whether a job has ended: by the replica that leads, by rules, or by the deadline."""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.kinds.t9k.behaviors import job_status, termination
from podplan.tools.status.observed_job import Decision, Observed, at, leader
from podplan.tools.status.outcome import Outcome, fails, succeeds, undecided
from podplan.tools.status.replicas import Replica, how_it_ended
from podplan.tools.status.success_rules import Final, by_rules

DEADLINE_AT: Path = ("spec", "runPolicy", "activeDeadlineSeconds")


def outcome(job: Observed, final: Final) -> Outcome:
    """How the job ends, from those of its replicas that have ended and are not started again."""
    found = _by_leader(job, final) if job.kind.leader else by_rules(job, final)
    return _by_deadline(job) if found.phase != "Failed" and _too_long(job) else found


def _too_long(job: Observed) -> bool:
    deadline = at(job.cr, DEADLINE_AT)
    return isinstance(deadline, int) and job.elapsed is not None and job.elapsed > deadline


def _by_deadline(job: Observed) -> Outcome:
    why = f"it ran for {job.elapsed} s, and activeDeadlineSeconds is {at(job.cr, DEADLINE_AT)}"
    decision = Decision("failure", f"the job fails: {why}", termination.DEADLINE, (), DEADLINE_AT)
    return fails(job, why, decision, job_status.SAYS_DEADLINE)


def _by_leader(job: Observed, final: Final) -> Outcome:
    fact, lead = job.kind.outcome, leader(job)
    if lead is None:
        return undecided(Decision("success", "nothing decides: the job has no replica that does", fact))
    if lead.name not in final:
        text = f"not decided yet: {lead.short} decides, and {_state(lead)}"
        return undecided(Decision("success", text, fact, (lead,)))
    if final[lead.name]:
        log = "; whether the training succeeded, only its log tells" if job.kind.says_finished else ""
        text = f"the job succeeds with {lead.short}, which completed{log}"
        return succeeds(job, f"{lead.short} has completed{log}", Decision("success", text, fact, (lead,)))
    ended = how_it_ended(lead)
    decision = Decision("failure", f"the job fails with {lead.short}, which {ended}", fact, (lead,))
    return fails(job, f"{lead.short} {ended}", decision, job.kind.says_failed, replica=lead)


def _state(replica: Replica) -> str:
    """What a replica does that decides nothing yet, as the predicate of a sentence."""
    if replica.ended:
        return "is started again"
    return {"Running": "is running", "Creating": "is being created", "Deleted": "is gone"}.get(
        replica.phase, f"is {replica.phase}"
    )
