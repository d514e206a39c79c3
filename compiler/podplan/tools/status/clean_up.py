"""Which Pods are deleted when a job ends (docs/evidence/t9k-common.md#clean-up-policy)."""

from __future__ import annotations

from collections.abc import Sequence

from podplan.core.findings import Path
from podplan.core.provenance import Fact
from podplan.core.typing import NamedTuple
from podplan.kinds.t9k.behaviors import termination
from podplan.tools.status.observed_job import Decision, Observed, at
from podplan.tools.status.replicas import Replica, named, plural

POLICIES = {
    "None": termination.CLEAN_UP_NONE,
    "Unfinished": termination.CLEAN_UP_UNFINISHED,
    "All": termination.CLEAN_UP_ALL,
}
UNFINISHED = ("Creating", "Pending", "Running", "Unknown")


class Cleaned(NamedTuple):
    """The replicas whose Pods are deleted, and the sentence about it."""

    deleted: tuple[Replica, ...]
    decision: Decision


def cleaned(job: Observed, has_ended: bool) -> Cleaned:
    """What is deleted of a job that has ended; of one that has not, nothing, and the sentence says why."""
    if job.kind.clean_up is termination.CLEAN_UP_WORKERS:
        return _workers(job, has_ended)
    written = at(job.cr, job.kind.clean_up_at)
    known = isinstance(written, str) and written in POLICIES
    default = job.options.fact(job.kind.clean_up)
    policy = written if known else default.value
    fact = POLICIES[policy] if known else default
    path = job.kind.clean_up_at if known else ()
    if not has_ended:
        return Cleaned((), _later(f"cleanUpPolicy is {policy}{'' if known else ', the default'}", fact, path))
    there = [one for one in job.replicas if one.phase != "Deleted"]
    gone = [one for one in there if policy == "All" or (policy == "Unfinished" and one.phase in UNFINISHED)]
    return _cleaned(job, gone, f"cleanUpPolicy is {policy}{'' if known else ', the default'}", fact, path)


def _workers(job: Observed, has_ended: bool) -> Cleaned:
    wanted = at(job.cr, job.kind.clean_up_at) is True
    path = job.kind.clean_up_at if at(job.cr, job.kind.clean_up_at) is not None else ()
    fact, why = (
        job.kind.clean_up,
        f"cleanUpWorkers is {'true' if wanted else 'false'}{'' if path else ', the default'}",
    )
    if not has_ended:
        return Cleaned((), _later(why, fact, path))
    workers = [one for one in job.replicas if one.type != job.kind.leader and one.phase != "Deleted"]
    return _cleaned(job, workers if wanted else [], why, fact, path)


def _later(why: str, fact: Fact, path: Path) -> Decision:
    return Decision("clean-up", f"nothing is deleted, for the job has not ended; {why}", fact, (), path)


def _cleaned(job: Observed, gone: Sequence[Replica], why: str, fact: Fact, path: Path) -> Cleaned:
    names = {one.name for one in gone}
    stay = [one for one in job.replicas if one.phase in UNFINISHED and one.name not in names]
    if gone:
        text = f"{named(gone)} {plural(gone, 'is', 'are')} deleted: {why}"
    else:
        text = f"nothing is deleted: {why}"
    if stay:
        text += f"; {named(stay)} {plural(stay, 'stays with what it holds', 'stay with what they hold')}"
    return Cleaned(tuple(gone), Decision("clean-up", text, fact, tuple(gone), path))
