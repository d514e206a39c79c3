"""Computes what the controller does next and reports, from the states of a job."""

from __future__ import annotations

from collections.abc import Collection

from podplan.kinds.spec import find_other_manager
from podplan.kinds.status_rules import EndingRules, JobsRules, LauncherRules, OwnedJobRules
from podplan.tools.status import reason
from podplan.tools.status.clean_up import decide_clean_up
from podplan.tools.status.completion import decide_outcome
from podplan.tools.status.conditions import build_conditions
from podplan.tools.status.endings import reconcile_by_endings
from podplan.tools.status.job_sets import reconcile_by_jobs
from podplan.tools.status.launcher_jobs import reconcile_by_launcher
from podplan.tools.status.observed_job import ControllerDecision, ObservedJob, count_past_restarts
from podplan.tools.status.outcome import JobOutcome, build_undecided
from podplan.tools.status.owned_jobs import reconcile_by_owned_job
from podplan.tools.status.phase import determine_phase, find_pause_path, is_paused
from podplan.tools.status.replicas import ObservedReplica, format_replicas, select_plural
from podplan.tools.status.restarts import build_restart_decisions, decide_restarts
from podplan.tools.status.result import ReplicaTransition, StatusResult


def reconcile_job(job: ObservedJob) -> StatusResult:
    """Return the status that the controller reports, and its decisions with their reasons."""
    result, manager = _reconcile(job), find_other_manager(job.kind_spec, job.cr)
    if not manager or result.replicas:
        return result
    return result._replace(headline=f"managedBy gives it to {manager}, and it has no Pods in this cluster")


def _reconcile(job: ObservedJob) -> StatusResult:
    if isinstance(job.status_rules, EndingRules):
        return reconcile_by_endings(job)
    if isinstance(job.status_rules, JobsRules):
        return reconcile_by_jobs(job, job.status_rules)
    if isinstance(job.status_rules, LauncherRules):
        return reconcile_by_launcher(job, job.status_rules)
    if isinstance(job.status_rules, OwnedJobRules):
        return reconcile_by_owned_job(job, job.status_rules)
    if is_paused(job):
        return _pause_job(job)
    ended_replicas = decide_restarts(job)
    restarted_names = {one.replica.name for one in ended_replicas if one.is_restarted}
    succeeded_by_name = {
        one.name: one.phase == "Succeeded"
        for one in job.replicas
        if one.has_ended and one.name not in restarted_names
    }
    result = decide_outcome(job, succeeded_by_name)
    if result.phase:
        ended_replicas = [
            one._replace(restart_number=0, reason="job") if one.is_restarted else one
            for one in ended_replicas
        ]
        return _finish_job(
            job,
            result,
            (*build_restart_decisions(job, ended_replicas), result.decision),
            reason.explain_ended_job(result, ended_replicas),
        )
    restarts = _count_restarts(job, restarted_names)
    phase, phase_behavior = determine_phase(job, any(restarts.values()))
    deleted_replicas = [one for one in job.replicas if one.phase == "Deleted"]
    return StatusResult(
        job,
        phase,
        phase_behavior,
        reason.explain_active_job(job, phase, ended_replicas),
        tuple(_build_active(one, restarted_names) for one in job.replicas),
        tuple(build_conditions(job, phase, result)),
        (
            *build_restart_decisions(job, ended_replicas),
            *_build_create_decision(job, deleted_replicas),
            result.decision,
            decide_clean_up(job, False).decision,
        ),
        restarts,
    )


def _finish_job(
    job: ObservedJob, result: JobOutcome, earlier_decisions: tuple[ControllerDecision, ...], explanation: str
) -> StatusResult:
    """Return the result of a job that has ended: nothing is restarted, and Pods are cleaned up."""
    clean_up = decide_clean_up(job, True)
    deleted = {one.name for one in clean_up.deleted_replicas}
    return StatusResult(
        job,
        result.phase,
        result.decision.behavior,
        explanation,
        tuple(
            _build_deleted(one) if one.name in deleted else ReplicaTransition(one, one.phase)
            for one in job.replicas
        ),
        tuple(build_conditions(job, result.phase, result)),
        (*earlier_decisions, clean_up.decision),
        _count_restarts(job, ()),
    )


def _pause_job(job: ObservedJob) -> StatusResult:
    existing = tuple(one for one in job.replicas if one.phase != "Deleted")
    deletion_text = (
        f"{format_replicas(existing)} {select_plural(existing, 'is', 'are')} deleted"
        if existing
        else "no Pods are made"
    )
    behavior, path = job.rules.behaviors.pause, find_pause_path(job)
    decision = ControllerDecision("pause", f"{deletion_text}: the job is paused", behavior, existing, path)
    return StatusResult(
        job,
        "Paused",
        job.rules.behaviors.pause,
        "it is in pause mode, and has no Pods",
        tuple(
            ReplicaTransition(one, one.phase) if one.phase == "Deleted" else _build_deleted(one)
            for one in job.replicas
        ),
        tuple(build_conditions(job, "Paused", build_undecided(job, decision))),
        (decision,),
        _count_restarts(job, ()),
    )


def _build_deleted(replica: ObservedReplica) -> ReplicaTransition:
    return ReplicaTransition(replica, "Deleted", is_deleted=True)


def _build_active(replica: ObservedReplica, restarted_names: Collection[str]) -> ReplicaTransition:
    """Return the transition of a replica of an active job: created again if it is restarted, or was
    deleted."""
    is_restarted = replica.name in restarted_names
    return ReplicaTransition(
        replica,
        "Creating" if is_restarted or replica.phase == "Deleted" else replica.phase,
        is_restarted=is_restarted,
    )


def _build_create_decision(
    job: ObservedJob, deleted_replicas: list[ObservedReplica]
) -> list[ControllerDecision]:
    if not deleted_replicas:
        return []
    text = (
        f"{format_replicas(deleted_replicas)} {select_plural(deleted_replicas, 'is', 'are')} gone, and"
        " created anew; that is not counted as a restart"
    )
    return [ControllerDecision("create", text, job.rules.behaviors.deleted_replica, tuple(deleted_replicas))]


def _count_restarts(job: ObservedJob, restarted_names: Collection[str]) -> dict[str, int]:
    """Return the restarts of each type, including those of ``restarted_names``."""
    restart_counts = count_past_restarts(job)
    for replica in job.replicas:
        restart_counts[replica.type] += replica.name in restarted_names
    return restart_counts
