"""The phase of a job that has not ended (docs/evidence/t9k-common.md#phases)."""

from __future__ import annotations

from podplan.core.provenance import Fact
from podplan.kinds.t9k.behaviors import job_status
from podplan.kubernetes.accessors import mapping
from podplan.tools.status.observed_job import Observed, at, leader
from podplan.tools.status.replicas import NOT_STARTED

PAUSE_AT = ("spec", "runMode", "pause", "enabled")


def paused(job: Observed) -> bool:
    """Whether the job is in pause mode, and has not been told to go on."""
    return at(job.cr, PAUSE_AT) is True and not job.options.resumed


def phase_of(job: Observed, restarted: bool) -> tuple[str, Fact]:
    """The phase, and what it rests on; ``restarted`` says whether a replica ever was."""
    lead = leader(job)
    if lead is not None and lead.phase == "Unknown":
        return "Unknown", job_status.PHASE_UNKNOWN
    if restarted or _started(job):
        return "Running", job_status.PHASE_RUNNING
    if at(job.cr, PAUSE_AT) is True:
        return "Resuming", job_status.PHASE_RESUMING
    return "Pending", job_status.PHASE_PENDING


def _started(job: Observed) -> bool:
    """Whether as many replicas have started as the job needs."""
    elastic = mapping(mapping(job.cr, "spec"), "elastic")
    needed, least = len(job.replicas), elastic.get("minReplicas")
    if elastic.get("enabled") is True and isinstance(least, int) and at(job.cr, job.kind.elastic_if) is True:
        needed = min(needed, least)
    # What is gone was started once, but not since a pause.
    late = (*NOT_STARTED, "Deleted") if at(job.cr, PAUSE_AT) is True else NOT_STARTED
    started = [one for one in job.replicas if one.phase not in late]
    return bool(job.replicas) and len(started) >= needed
