"""The phase of a job that has not ended (docs/evidence/t9k-common.md#phases)."""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.kinds.t9k.behaviors import job_status
from podplan.kubernetes.accessors import get_mapping
from podplan.tools.status.observed_job import ObservedJob, find_leader, get_at
from podplan.tools.status.replicas import NOT_STARTED_PHASES

PAUSE_PATH = ("spec", "runMode", "pause", "enabled")


def is_paused(job: ObservedJob) -> bool:
    """Whether the job is in pause mode, and has not been told to go on."""
    return get_at(job.cr, PAUSE_PATH) is True and not job.options.resumed


def determine_phase(job: ObservedJob, has_restarted: bool) -> tuple[str, Behavior]:
    """The phase, and what it rests on; ``restarted`` says whether a replica ever was."""
    leading_replica = find_leader(job)
    if leading_replica is not None and leading_replica.phase == "Unknown":
        return "Unknown", job_status.PHASE_UNKNOWN
    if has_restarted or _has_started(job):
        return "Running", job_status.PHASE_RUNNING
    if get_at(job.cr, PAUSE_PATH) is True:
        return "Resuming", job_status.PHASE_RESUMING
    return "Pending", job_status.PHASE_PENDING


def _has_started(job: ObservedJob) -> bool:
    """Whether as many replicas have started as the job needs."""
    elastic = get_mapping(get_mapping(job.cr, "spec"), "elastic")
    needed, min_replicas = len(job.replicas), elastic.get("minReplicas")
    if (
        elastic.get("enabled") is True
        and isinstance(min_replicas, int)
        and get_at(job.cr, job.rules.elastic_condition_path) is True
    ):
        needed = min(needed, min_replicas)
    # What is gone was started once, but not since a pause.
    not_running_phases = (
        (*NOT_STARTED_PHASES, "Deleted") if get_at(job.cr, PAUSE_PATH) is True else NOT_STARTED_PHASES
    )
    started = [one for one in job.replicas if one.phase not in not_running_phases]
    return bool(job.replicas) and len(started) >= needed
