"""The status of a job whose launcher is a Job of Kubernetes, and whose workers are Pods.

Source: docs/evidence/mpi-operator.md#end-of-a-job.
"""

from __future__ import annotations

from collections.abc import Sequence

from podplan.core.typing import Any
from podplan.kinds.status_rules import LauncherRules
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.tools.status.conditions import Condition
from podplan.tools.status.job_sets import list_jobs
from podplan.tools.status.jobs import JobEnd, decide_job
from podplan.tools.status.observed_job import ControllerDecision, ObservedJob, count_past_restarts, get_at
from podplan.tools.status.replicas import ObservedReplica, describe_end, format_replicas, select_plural
from podplan.tools.status.result import ReplicaTransition, StatusResult

_ACTIVE_PHASES = ("Creating", "Pending", "Running", "Unknown")
_STARTED = ("Running", "Succeeded", "Failed")


def reconcile_by_launcher(job: ObservedJob, rules: LauncherRules) -> StatusResult:
    """Return the status that the operator reports, and its decisions with their reasons."""
    if _get_policy(job, "suspend") is True and not job.options.resumed:
        return _suspend(job, rules)
    launchers = [one for one in list_jobs(job, job.elapsed) if one.type == rules.launcher]
    specs = [group.doc.data["spec"] for group in job.groups if group.doc.data["kind"] == "Job"]
    ends = [
        decide_job(one._replace(spec=spec, path=(*job.kind_spec.run_policy_path,)), rules.job)
        for one, spec in zip(launchers, specs, strict=False)
    ]
    workers = [one for one in job.replicas if one.type == rules.worker]
    evicted = [one for one in workers if one.phase == "Failed" and one.reason == "Evicted"]
    phase, condition = _decide(job, rules, ends, workers, evicted)
    has_ended = phase in ("Succeeded", "Failed")
    deleted = _list_deleted(job, workers) if has_ended else []
    transitions = tuple(_change(one, ends, one in deleted, has_ended) for one in job.replicas)
    decisions = [
        *(decision for end in ends for decision in end.decisions),
        *_explain_workers(rules, workers, evicted),
        *(_explain_end(job, rules, deleted) if has_ended else ()),
    ]
    conditions = [_build_condition(job, rules, "Created", True, f"{job.cr['kind']}Created", "created")]
    if has_ended:
        conditions.append(
            _build_condition(job, rules, "Running", False, f"{job.cr['kind']}Running", "running")
        )
    if condition is not None:
        conditions.append(condition)
    restarts = count_past_restarts(job)
    for one in transitions:
        restarts[one.observed.type] += one.is_restarted
    return StatusResult(
        job,
        phase,
        rules.behaviors.conditions,
        _explain_phase(job, ends, evicted, has_ended),
        transitions,
        tuple(conditions),
        tuple(decisions),
        restarts,
        {"replicaStatuses": _count_replicas(rules, ends, workers)},
    )


def _get_policy(job: ObservedJob, field: str) -> Any:
    return get_at(job.cr, (*job.kind_spec.run_policy_path, field))


def _format(job: ObservedJob, rules: LauncherRules, name: str, **values: str) -> str:
    namespace = get_text(get_mapping(job.cr, "metadata"), "namespace") or "default"
    text = rules.messages[name]
    for key, value in {"namespace": namespace, "job": job.name, **values}.items():
        text = text.replace(f"{{{key}}}", value)
    return text


def _build_condition(
    job: ObservedJob, rules: LauncherRules, type_: str, status: bool, reason: str, name: str
) -> Condition:
    return Condition(type_, status, reason, _format(job, rules, name), rules.behaviors.conditions)


def _decide(
    job: ObservedJob,
    rules: LauncherRules,
    ends: Sequence[JobEnd],
    workers: Sequence[ObservedReplica],
    evicted: Sequence[ObservedReplica],
) -> tuple[str, Condition | None]:
    """Return the phase of a job, and the condition that states it."""
    if evicted:
        values = {"count": str(len(evicted)), "total": str(len(workers))}
        message = _format(job, rules, "evicted", **values)
        return "Failed", Condition(
            "Failed", True, f"{job.cr['kind']}Evicted", message, rules.behaviors.conditions
        )
    for end in ends:
        if end.phase == "Complete":
            return "Succeeded", _build_condition(
                job, rules, "Succeeded", True, f"{job.cr['kind']}Succeeded", "succeeded"
            )
        if end.phase == "Failed":
            return "Failed", _build_failure(rules, end)
    launchers = [one for one in job.replicas if one.type == rules.launcher]
    # The condition stays when a worker ends that has run together with the others.
    if any(one.phase == "Running" for one in launchers) and all(one.phase in _STARTED for one in workers):
        return "Running", _build_condition(job, rules, "Running", True, f"{job.cr['kind']}Running", "running")
    return "Created", None


def _build_failure(rules: LauncherRules, end: JobEnd) -> Condition:
    """Build the condition of a failed launcher, with the reason of its last Pod, which is often empty."""
    reason, message = end.reason, end.message
    failed = [one for one in end.job.replicas if one.phase == "Failed"]
    if reason == "BackoffLimitExceeded" and failed:
        reason, message = f"{reason}/{failed[-1].reason}", f"{message}: "
    return Condition("Failed", True, reason, message, rules.behaviors.conditions)


def _list_deleted(job: ObservedJob, workers: Sequence[ObservedReplica]) -> list[ObservedReplica]:
    policy = _get_policy(job, "cleanPodPolicy") or "None"
    if policy == "None":
        return []
    return [
        one for one in workers if one.phase != "Deleted" and (policy == "All" or one.phase in _ACTIVE_PHASES)
    ]


def _change(
    replica: ObservedReplica, ends: Sequence[JobEnd], is_deleted: bool, has_ended: bool
) -> ReplicaTransition:
    if is_deleted:
        return ReplicaTransition(replica, "Deleted", is_deleted=True)
    if any(replica.short_name in end.recreated for end in ends) and not has_ended:
        return ReplicaTransition(replica, "Creating", is_restarted=True)
    is_created = replica.phase == "Deleted" and not has_ended
    return ReplicaTransition(replica, "Creating" if is_created else replica.phase)


def _explain_workers(
    rules: LauncherRules, workers: Sequence[ObservedReplica], evicted: Sequence[ObservedReplica]
) -> list[ControllerDecision]:
    decisions = []
    failed = [one for one in workers if one.phase == "Failed" and one not in evicted]
    if failed:
        verb = select_plural(failed, "is", "are")
        what = describe_end(failed[0]) if len(failed) == 1 else "have failed"
        text = f"{format_replicas(failed)} {what} and {verb} not created again"
        decisions.append(ControllerDecision("restart", text, rules.behaviors.restarts, tuple(failed)))
    if evicted:
        verb = select_plural(evicted, "was", "were")
        text = f"the job fails: {format_replicas(evicted)} {verb} evicted"
        decisions.append(ControllerDecision("failure", text, rules.behaviors.failure, tuple(evicted)))
    return decisions


def _explain_end(
    job: ObservedJob, rules: LauncherRules, deleted: list[ObservedReplica]
) -> list[ControllerDecision]:
    path = (*job.kind_spec.run_policy_path, "cleanPodPolicy")
    policy = _get_policy(job, "cleanPodPolicy")
    verb = select_plural(deleted, "is", "are")
    what = f"{format_replicas(deleted)} {verb} deleted" if deleted else "nothing is deleted"
    text = f"{what}: cleanPodPolicy is {policy or 'None, the default'}"
    clean_up = rules.behaviors.clean_up
    decisions = [ControllerDecision("clean-up", text, clean_up, tuple(deleted), path if policy else ())]
    seconds = _get_policy(job, "ttlSecondsAfterFinished")
    if isinstance(seconds, int):
        when = "at once" if seconds == 0 else f"{seconds} s after its end"
        text = f"the Job of the launcher is deleted {when}, with its Pods and their logs"
        path = (*job.kind_spec.run_policy_path, "ttlSecondsAfterFinished")
        decisions.append(ControllerDecision("clean-up", text, rules.behaviors.time_to_live, (), path))
    return decisions


def _explain_phase(
    job: ObservedJob, ends: Sequence[JobEnd], evicted: Sequence[ObservedReplica], has_ended: bool
) -> str:
    if evicted:
        return f"{format_replicas(evicted)} {select_plural(evicted, 'was', 'were')} evicted"
    if has_ended:
        return ends[0].decisions[-1].text.partition(": ")[2]
    recreated = [one for one in job.replicas if any(one.short_name in end.recreated for end in ends)]
    if recreated:
        return f"{recreated[0].short_name} {describe_end(recreated[0])}, and a new Pod takes its place"
    running = sum(one.phase == "Running" for one in job.replicas)
    return f"{running} of {len(job.replicas)} Pods run" if job.replicas else "it has no Pods"


def _count_replicas(
    rules: LauncherRules, ends: Sequence[JobEnd], workers: Sequence[ObservedReplica]
) -> dict[str, dict[str, int]]:
    """Build the counts by replica type: 1 for a launcher that has succeeded, by phase for workers."""
    launcher = {"active": 0, "failed": sum(one.failed for one in ends), "succeeded": 0}
    for end in ends:
        running = sum(one.phase == "Running" for one in end.job.replicas)
        launcher["succeeded" if end.phase == "Complete" else "active"] += (
            1 if end.phase == "Complete" else running * (end.phase == "Active")
        )
    phases = [one.phase for one in workers]
    counts = {
        rules.launcher: launcher,
        rules.worker: {
            "active": phases.count("Running"),
            "failed": phases.count("Failed"),
            "succeeded": phases.count("Succeeded"),
        },
    }
    return {type_: {key: count for key, count in one.items() if count} for type_, one in counts.items()}


def _suspend(job: ObservedJob, rules: LauncherRules) -> StatusResult:
    existing = tuple(one for one in job.replicas if one.phase != "Deleted")
    verb = select_plural(existing, "is", "are")
    text = f"{format_replicas(existing)} {verb} deleted" if existing else "no Pods are made"
    path = (*job.kind_spec.run_policy_path, "suspend")
    decision = ControllerDecision(
        "pause", f"{text}: the job is suspended", rules.behaviors.suspend, existing, path
    )
    return StatusResult(
        job,
        "Suspended",
        rules.behaviors.suspend,
        "it is suspended, and has no Pods",
        tuple(ReplicaTransition(one, "Deleted", is_deleted=one.phase != "Deleted") for one in job.replicas),
        (
            _build_condition(job, rules, "Created", True, f"{job.cr['kind']}Created", "created"),
            _build_condition(job, rules, "Suspended", True, f"{job.cr['kind']}Suspended", "suspended"),
            _build_condition(job, rules, "Running", False, f"{job.cr['kind']}Suspended", "not-running"),
        ),
        (decision,),
        count_past_restarts(job),
        {"replicaStatuses": {rules.launcher: {}, rules.worker: {}}},
    )
