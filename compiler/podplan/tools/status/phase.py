"""The phase of a job that has not ended (docs/evidence/t9k-common.md#phases)."""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.core.provenance import Behavior
from podplan.tools.status.observed_job import ObservedJob, find_leader, get_at
from podplan.tools.status.replicas import NOT_STARTED_PHASES


def is_pause_enabled(job: ObservedJob) -> bool:
    """Whether the CR enables pause mode."""
    return get_at(job.cr, find_pause_path(job)) is True


def find_pause_path(job: ObservedJob) -> Path:
    """Return the path of the field that enables pause mode."""
    return (*job.kind_spec.run_mode_path, "pause", "enabled")


def is_paused(job: ObservedJob) -> bool:
    """Whether the job is in pause mode, and is not being resumed."""
    return is_pause_enabled(job) and not job.options.resumed


def determine_phase(job: ObservedJob, has_restarted: bool) -> tuple[str, Behavior]:
    """Return the phase, and its behavior; ``has_restarted`` is whether a replica ever restarted."""
    leading_replica = find_leader(job)
    if leading_replica is not None and leading_replica.phase == "Unknown":
        return "Unknown", job.rules.behaviors.phase_unknown
    if has_restarted or _has_started(job):
        return "Running", job.rules.behaviors.phase_running
    if is_pause_enabled(job):
        return "Resuming", job.rules.behaviors.phase_resuming
    return "Pending", job.rules.behaviors.phase_pending


def _has_started(job: ObservedJob) -> bool:
    """Whether as many replicas have started as the job needs."""
    elastic = get_at(job.cr, job.kind_spec.elastic_path)
    elastic = elastic if isinstance(elastic, dict) else {}
    needed, min_replicas = len(job.replicas), elastic.get("minReplicas")
    if (
        elastic.get("enabled") is True
        and isinstance(min_replicas, int)
        and get_at(job.cr, job.rules.elastic_condition_path) is True
    ):
        needed = min(needed, min_replicas)
    # A deleted replica has run at some time, but not since a pause.
    not_running_phases = (*NOT_STARTED_PHASES, "Deleted") if is_pause_enabled(job) else NOT_STARTED_PHASES
    started = [one for one in job.replicas if one.phase not in not_running_phases]
    return bool(job.replicas) and len(started) >= needed
