"""How a job ends, and what the conditions say then."""

from __future__ import annotations

from podplan.core.provenance import Fact
from podplan.core.typing import NamedTuple
from podplan.kinds.t9k.behaviors import job_status
from podplan.tools.status.observed_job import Decision, Observed
from podplan.tools.status.replicas import Replica


class Outcome(NamedTuple):
    """How a job ends: ``phase`` is Succeeded, Failed or "" for not yet. ``says`` fills the conditions.

    ``why`` is what led there, for a headline; ``adds`` says whether that may add that nothing starts again.
    """

    phase: str
    why: str
    decision: Decision
    says: Fact = job_status.SAYS_STILL_RUNNING
    message: str = ""
    adds: bool = True


def undecided(decision: Decision) -> Outcome:
    """A job that goes on."""
    return Outcome("", "", decision)


def succeeds(job: Observed, why: str, decision: Decision) -> Outcome:
    """A job that has succeeded, because of ``why``."""
    fact = job.options.fact(job_status.SAYS_SUCCEEDED)
    return Outcome("Succeeded", why, decision, fact, said(fact, job))


def fails(
    job: Observed, why: str, decision: Decision, says: Fact, *, replica: Replica | None = None, rule: str = ""
) -> Outcome:
    """A job that has failed, because of ``why``; ``says`` is about a replica or a rule."""
    fact = job.options.fact(says)
    return Outcome("Failed", why, decision, fact, said(fact, job, replica).replace("{rule}", rule))


def said(fact: Fact, job: Observed, replica: Replica | None = None) -> str:
    """The text of a fact with the names and numbers of a job and a replica in it."""
    text = str(fact.value).replace("{kind}", job.cr["kind"]).replace("{job}", job.name)
    if replica is None:
        return text
    code = "unknown" if replica.code is None else str(replica.code)
    return text.replace("{pod}", replica.name).replace("{code}", code)
