"""The status of a job that is a Job of Kubernetes or a set of them.

Source: docs/evidence/jobset.md#end-of-a-jobset, docs/evidence/trainer.md#status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from podplan.core.findings import Path
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.status_rules import JobBehaviors, JobSetBehaviors, JobsRules
from podplan.kubernetes.accessors import get_entries, get_mapping, get_number, get_text, get_texts
from podplan.tools.status.conditions import Condition
from podplan.tools.status.jobs import JobEnd, JobView, decide_job
from podplan.tools.status.observed_job import ControllerDecision, ObservedJob, count_past_restarts, get_at
from podplan.tools.status.replicas import ObservedReplica, format_replicas, select_plural
from podplan.tools.status.result import ReplicaTransition, StatusResult

_REPLICATED_JOBS: Path = ("spec", "replicatedJobs")
_RESTARTS = ("RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts")


class SetEnd(NamedTuple):
    """The state of a set of Jobs: ``phase`` is Running, Succeeded, Failed or Restarting."""

    phase: str
    reason: str = ""
    message: str = ""
    decision: ControllerDecision | None = None


def reconcile_by_jobs(job: ObservedJob, rules: JobsRules) -> StatusResult:
    """Return the status that the controllers report, and their decisions with their reasons."""
    if get_at(job.cr, ("spec", "suspend")) is True and not job.options.resumed:
        return _suspend(job, rules)
    views = list_jobs(job, None if rules.has_own_deadline else job.elapsed)
    ends = [decide_job(one, rules.job) for one in views]
    if rules.job_set is None:
        return _report_job(job, rules, ends)
    return _report_job_set(job, rules, rules.job_set, ends)


def list_jobs(job: ObservedJob, elapsed: int | None) -> list[JobView]:
    """Return the Jobs of a job in their order; the CR itself, if it is one."""
    namespace = get_text(get_mapping(job.cr, "metadata"), "namespace") or "default"
    replicas_by_job: dict[str, list[ObservedReplica]] = {}
    for replica in job.replicas:
        replicas_by_job.setdefault(replica.job_name, []).append(replica)
    written = get_at(job.cr, _REPLICATED_JOBS)
    paths: dict[str, Path] = {
        get_text(entry, "name"): (*_REPLICATED_JOBS, index, "template", "spec")
        for index, entry in (get_entries(job.cr["spec"], "replicatedJobs") if written else ())
    }
    specs = {
        group.replica_type: group.doc.data["spec"] for group in job.groups if group.doc.data["kind"] == "Job"
    }
    return [
        JobView(
            name,
            replicas[0].type,
            specs.get(replicas[0].type, job.cr["spec"]),
            tuple(replicas),
            paths.get(replicas[0].type, () if specs else ("spec",)),
            namespace,
            elapsed,
        )
        for name, replicas in replicas_by_job.items()
    ]


def _report_job(job: ObservedJob, rules: JobsRules, ends: Sequence[JobEnd]) -> StatusResult:
    """Return the status of a Job."""
    if not ends:
        return StatusResult(job, "Running", rules.job.conditions, "it has no Pods", (), (), (), {}, {})
    (end,) = ends
    has_ended = end.phase != "Active"
    transitions = tuple(_change_replica(one, end, is_deleted=has_ended) for one in job.replicas)
    decisions = list(end.decisions)
    if has_ended:
        decisions += _explain_end(job, rules.job, transitions)
    phases = [one.phase for one in transitions]
    counts = {
        "active": sum(phases.count(one) for one in ("Running", "Pending", "Creating")),
        "failed": end.failed,
        "ready": phases.count("Running"),
        "succeeded": phases.count("Succeeded"),
    }
    conditions: tuple[Condition, ...] = ()
    if has_ended:
        first = "SuccessCriteriaMet" if end.phase == "Complete" else "FailureTarget"
        conditions = tuple(
            Condition(one, True, end.reason, end.message, rules.job.conditions) for one in (first, end.phase)
        )
    phase = {"Active": "Running", "Complete": "Succeeded"}.get(end.phase, end.phase)
    return StatusResult(
        job,
        phase,
        rules.job.conditions,
        _explain_phase(transitions, ends, end.decisions[-1] if has_ended else None),
        transitions,
        conditions,
        tuple(decisions),
        _count_restarts(job, transitions),
        {key: count for key, count in counts.items() if count},
    )


def _report_job_set(
    job: ObservedJob, rules: JobsRules, behaviors: JobSetBehaviors, ends: Sequence[JobEnd]
) -> StatusResult:
    waiting = _list_waiting(job, ends)
    ending = (
        _find_deadline(job, rules, behaviors)
        or _find_failure(job, behaviors, ends)
        or _find_success(job, behaviors, ends)
        or SetEnd("Running")
    )
    end_by_job, dependent = {one.job.name: one for one in ends}, _list_dependent(job)
    transitions = []
    for replica in job.replicas:
        end = end_by_job[replica.job_name]
        if ending.phase == "Restarting":
            phase = "Deleted" if replica.type in dependent else "Creating"
            transitions.append(
                ReplicaTransition(replica, phase, is_restarted=True, is_deleted=phase == "Deleted")
            )
        elif replica.type in waiting and not replica.is_declared:
            transitions.append(ReplicaTransition(replica, "Deleted"))
        else:
            is_gone = ending.phase in ("Succeeded", "Failed") and end.phase == "Active"
            is_gone = is_gone or ending.reason == "DeadlineExceeded"
            is_over = end.phase != "Active"
            transitions.append(_change_replica(replica, end, is_deleted=is_over, is_gone=is_gone))
    decisions = [decision for end in ends if end.has_failures for decision in end.decisions]
    decisions += _explain_order(job, behaviors, waiting)
    decisions.append(ending.decision or _explain_undecided(job, behaviors, ends))
    if ending.phase in ("Succeeded", "Failed"):
        decisions += _explain_end(job, behaviors, transitions)
    conditions = _build_conditions(rules, behaviors, ending)
    if _is_in_order(job) and not rules.has_own_deadline:
        conditions = (*_build_order_conditions(behaviors, bool(waiting)), *conditions)
    phase = "Running" if ending.phase == "Restarting" else ending.phase
    return StatusResult(
        job,
        phase,
        behaviors.conditions,
        _explain_phase(transitions, ends, ending.decision),
        tuple(transitions),
        conditions,
        tuple(decisions),
        _count_restarts(job, transitions),
        _build_status(job, rules, ending, ends, waiting),
    )


def _find_policy(job: ObservedJob) -> Mapping[str, Any]:
    """Return the spec of the set of Jobs: of the CR, else of its lowered object."""
    if get_at(job.cr, _REPLICATED_JOBS) is not None:
        return get_mapping(job.cr, "spec")
    specs = (get_mapping(group.doc.data, "spec") for group in job.groups)
    return next((one for one in specs if "replicatedJobs" in one), {})


def _find_path(job: ObservedJob, field: str) -> Path:
    """Return the path of a field of the set in the CR, () if it is not there."""
    return ("spec", field) if get_at(job.cr, ("spec", field)) is not None else ()


def _find_deadline(job: ObservedJob, rules: JobsRules, behaviors: JobSetBehaviors) -> SetEnd | None:
    deadline = get_at(job.cr, ("spec", "activeDeadlineSeconds")) if rules.has_own_deadline else None
    if not isinstance(deadline, int) or job.elapsed is None or job.elapsed <= deadline:
        return None
    text = f"the job fails: it ran for {job.elapsed} s, and activeDeadlineSeconds is {deadline}"
    path = _find_path(job, "activeDeadlineSeconds")
    decision = ControllerDecision("failure", text, behaviors.deadline, (), path)
    return SetEnd("Failed", "DeadlineExceeded", behaviors.messages["DeadlineExceeded"], decision)


def _find_failure(job: ObservedJob, behaviors: JobSetBehaviors, ends: Sequence[JobEnd]) -> SetEnd | None:
    failed = [one for one in ends if one.phase == "Failed"]
    if not failed:
        return None
    spec = _find_policy(job)
    policy, path = get_mapping(spec, "failurePolicy"), _find_path(job, "failurePolicy")
    if "failurePolicy" not in spec:
        text = f"the job fails: the Job {failed[0].job.name} has failed, and there is no failurePolicy"
        return _fail(behaviors, "FailedJobs", text, failed[0], path)
    action, cause = _match_rule(policy, failed)
    past = get_mapping(job.cr, "status")
    restarts = max(get_number(past, "restartsCountTowardsMax"), get_number(past, "restarts"), 0)
    most = max(get_number(policy, "maxRestarts"), 0)
    if action == "FailJobSet":
        text = f"the job fails by its failurePolicy: the Job {cause.job.name} has failed"
        return _fail(behaviors, "FailJobSetFailurePolicyAction", text, cause, path)
    if action == _RESTARTS[0] and restarts >= most:
        text = f"the job fails: the Job {cause.job.name} has failed, after {restarts} of {most} restarts"
        return _fail(behaviors, "ReachedMaxRestarts", text, cause, path)
    counted = f"restart {restarts + 1} of {most}" if action == _RESTARTS[0] else "which does not count"
    text = f"all Jobs are created again: the Job {cause.job.name} has failed; {counted}"
    decision = ControllerDecision("restart", text, behaviors.failure, job.replicas, path)
    return SetEnd("Restarting", decision=decision)


def _match_rule(policy: Mapping[str, Any], failed: Sequence[JobEnd]) -> tuple[str, JobEnd]:
    """Return the action of the first rule of a failurePolicy that matches a failed Job, and that Job."""
    for _, rule in get_entries(policy, "rules"):
        reasons = [text for _, text in get_texts(rule, "onJobFailureReasons")]
        targets = [text for _, text in get_texts(rule, "targetReplicatedJobs")]
        for end in failed:
            if end.reason in (reasons or [end.reason]) and end.job.type in (targets or [end.job.type]):
                return get_text(rule, "action"), end
    return _RESTARTS[0], failed[0]


def _fail(behaviors: JobSetBehaviors, reason: str, text: str, cause: JobEnd, path: Path) -> SetEnd:
    decision = ControllerDecision("failure", text, behaviors.failure, cause.job.replicas, path)
    message = behaviors.messages[reason].replace("{job}", cause.job.name)
    return SetEnd("Failed", reason, message, decision)


def _find_success(job: ObservedJob, behaviors: JobSetBehaviors, ends: Sequence[JobEnd]) -> SetEnd | None:
    policy = get_mapping(_find_policy(job), "successPolicy")
    targets = [text for _, text in get_texts(policy, "targetReplicatedJobs")]
    deciding = [one for one in ends if one.job.type in (targets or [one.job.type])]
    complete = [one for one in deciding if one.phase == "Complete"]
    is_any = policy.get("operator") == "Any"
    if not complete or (len(complete) < len(deciding) and not is_any):
        return None
    count = f"{len(complete)} of {len(deciding)} Jobs are" if len(deciding) > 1 else "its Job is"
    text = f"the job succeeds: {count} complete"
    replicas = tuple(replica for one in complete for replica in one.job.replicas)
    decision = ControllerDecision(
        "success", text, behaviors.success, replicas, _find_path(job, "successPolicy")
    )
    return SetEnd("Succeeded", "AllJobsCompleted", behaviors.messages["AllJobsCompleted"], decision)


def _explain_undecided(
    job: ObservedJob, behaviors: JobSetBehaviors, ends: Sequence[JobEnd]
) -> ControllerDecision:
    complete = sum(one.phase == "Complete" for one in ends)
    text = f"not decided yet: {complete} of {len(ends)} Jobs {'is' if complete == 1 else 'are'} complete"
    return ControllerDecision("success", text, behaviors.success, (), _find_path(job, "successPolicy"))


def _list_waiting(job: ObservedJob, ends: Sequence[JobEnd]) -> dict[str, str]:
    """Return the replicated jobs that do not exist yet, and what they wait for."""
    waiting: dict[str, str] = {}
    for _, replicated in get_entries(_find_policy(job), "replicatedJobs"):
        for _, dependency in get_entries(replicated, "dependsOn"):
            name, status = get_text(dependency, "name"), get_text(dependency, "status")
            of_job = [one for one in ends if one.job.type == name]
            is_met = all(
                one.phase == "Complete" or (status == "Ready" and one.phase == "Active" and one.ready)
                for one in of_job
            )
            if not is_met or name in waiting:
                waiting.setdefault(get_text(replicated, "name"), f"{name} is {status.lower()}")
    if _is_in_order(job):
        types = list(dict.fromkeys(one.job.type for one in ends))
        late = [one.job.type for one in ends if one.phase == "Active" and not one.ready]
        first = min((types.index(one) for one in late), default=len(types))
        waiting.update(dict.fromkeys(types[first + 1 :], f"{types[first]} is ready"))
    return waiting


def _is_in_order(job: ObservedJob) -> bool:
    """Whether replicated jobs are created one after the other."""
    order: object = get_mapping(_find_policy(job), "startupPolicy").get("startupPolicyOrder")
    return order == "InOrder"


def _explain_order(
    job: ObservedJob, behaviors: JobSetBehaviors, waiting: Mapping[str, str]
) -> Iterable[ControllerDecision]:
    for type_, condition in waiting.items():
        replicas = tuple(one for one in job.replicas if one.type == type_)
        if not any(one.is_declared for one in replicas):
            verb = select_plural(replicas, "is", "are")
            text = f"{format_replicas(replicas)} {verb} created once {condition}"
            yield ControllerDecision("create", text, behaviors.order, replicas)


def _change_replica(
    replica: ObservedReplica, end: JobEnd, *, is_deleted: bool, is_gone: bool = False
) -> ReplicaTransition:
    """Return a replica after its Job has ended (``is_deleted``) or was deleted (``is_gone``)."""
    if replica.phase == "Deleted":
        return ReplicaTransition(replica, "Deleted" if is_deleted or is_gone else "Creating")
    if is_gone or (is_deleted and replica.phase not in ("Succeeded", "Failed")):
        return ReplicaTransition(replica, "Deleted", is_deleted=True)
    if replica.short_name in end.recreated:
        return ReplicaTransition(replica, "Creating", is_restarted=True)
    return ReplicaTransition(replica, replica.phase)


def _explain_end(
    job: ObservedJob, behaviors: JobBehaviors | JobSetBehaviors, transitions: Sequence[ReplicaTransition]
) -> Iterable[ControllerDecision]:
    deleted = [one.observed for one in transitions if one.is_deleted]
    verb = select_plural(deleted, "is", "are")
    text = f"{format_replicas(deleted)} {verb} deleted" if deleted else "no Pod is deleted"
    yield ControllerDecision("clean-up", text, behaviors.clean_up, tuple(deleted))
    seconds = get_at(_find_policy(job) or job.cr["spec"], ("ttlSecondsAfterFinished",))
    if isinstance(seconds, int):
        when = "at once" if seconds == 0 else f"{seconds} s after its end"
        what = "the job itself" if _find_path(job, "ttlSecondsAfterFinished") else "what it created"
        yield ControllerDecision(
            "clean-up",
            f"{what} is deleted {when}, with its Pods and their logs",
            behaviors.time_to_live,
            (),
            _find_path(job, "ttlSecondsAfterFinished"),
        )


def _build_conditions(rules: JobsRules, behaviors: JobSetBehaviors, ending: SetEnd) -> tuple[Condition, ...]:
    if ending.phase not in ("Succeeded", "Failed"):
        return ()
    type_ = rules.complete_type if ending.phase == "Succeeded" else "Failed"
    return (Condition(type_, True, ending.reason, ending.message, behaviors.conditions),)


def _build_order_conditions(behaviors: JobSetBehaviors, is_waiting: bool) -> tuple[Condition, ...]:
    """Build the conditions of a set whose Jobs are created one after the other."""
    values = [("StartupPolicyInProgress", is_waiting, "InOrderStartupPolicyInProgress")]
    if not is_waiting:
        values.append(("StartupPolicyCompleted", True, "InOrderStartupPolicyCompleted"))
    return tuple(
        Condition(type_, status, reason, behaviors.messages[reason], behaviors.conditions)
        for type_, status, reason in values
    )


def _build_status(
    job: ObservedJob, rules: JobsRules, ending: SetEnd, ends: Sequence[JobEnd], waiting: Mapping[str, str]
) -> dict[str, Any]:
    """Build the counts of Jobs by replicated job, as the controller reports them."""
    statuses = []
    for type_ in dict.fromkeys(one.type for one in job.replicas):
        of_type = [one for one in ends if one.job.type == type_]
        phases = [one.phase for one in of_type]
        is_there = (
            ending.phase != "Restarting" and type_ not in waiting and ending.reason != "DeadlineExceeded"
        )
        active = [one for one in of_type if one.phase == "Active"] if is_there else []
        if ending.phase in ("Succeeded", "Failed"):
            active = []
        statuses.append(
            {
                "active": len(active),
                "failed": phases.count("Failed") if is_there else 0,
                "name": type_,
                "ready": sum(one.ready for one in active),
                "succeeded": phases.count("Complete") if is_there else 0,
                "suspended": 0,
            }
        )
    if rules.has_own_deadline:
        return {rules.statuses_field: statuses}
    past = get_number(get_mapping(job.cr, "status"), "restarts")
    terminal = {"Succeeded": rules.complete_type, "Failed": "Failed"}.get(ending.phase)
    return {
        rules.statuses_field: statuses,
        "restarts": max(past, 0) + (ending.phase == "Restarting"),
        **({"terminalState": terminal} if terminal else {}),
    }


def _explain_phase(
    transitions: Sequence[ReplicaTransition], ends: Sequence[JobEnd], decision: ControllerDecision | None
) -> str:
    if decision is not None:
        return decision.text.removeprefix("the job ").partition(": ")[2] or decision.text
    recreated = [
        one.observed for one in transitions if any(one.observed.short_name in end.recreated for end in ends)
    ]
    if recreated:
        verb = select_plural(recreated, "has", "have")
        effect = select_plural(recreated, "a new Pod takes its place", "new Pods take their places")
        return f"{format_replicas(recreated)} {verb} failed, and {effect}"
    running = sum(one.phase == "Running" for one in transitions)
    return f"{running} of {len(transitions)} Pods run" if transitions else "it has no Pods"


def _count_restarts(job: ObservedJob, transitions: Iterable[ReplicaTransition]) -> dict[str, int]:
    counts = count_past_restarts(job)
    for one in transitions:
        counts[one.observed.type] += one.is_restarted
    return counts


def _suspend(job: ObservedJob, rules: JobsRules) -> StatusResult:
    behaviors = rules.job_set or rules.job
    existing = tuple(one for one in job.replicas if one.phase not in ("Deleted", "Succeeded", "Failed"))
    verb = select_plural(existing, "is", "are")
    text = f"{format_replicas(existing)} {verb} deleted" if existing else "no Pods are made"
    decision = ControllerDecision(
        "pause", f"{text}: the job is suspended", behaviors.suspend, existing, ("spec", "suspend")
    )
    reason, message = rules.suspended
    condition = Condition("Suspended", True, reason, message, behaviors.conditions)
    return StatusResult(
        job,
        "Suspended",
        behaviors.suspend,
        "it is suspended, and has no Pods that run",
        tuple(
            ReplicaTransition(one, "Deleted", is_deleted=one.phase != "Deleted")
            if one in existing
            else ReplicaTransition(one, one.phase)
            for one in job.replicas
        ),
        (condition,),
        (decision,),
        count_past_restarts(job),
        _build_suspended_status(job, rules),
    )


def _build_suspended_status(job: ObservedJob, rules: JobsRules) -> dict[str, Any]:
    """Build the counts of suspended Jobs; those that depend on others do not exist yet."""
    if rules.job_set is None:
        return {}
    later = _list_dependent(job)
    job_names = {one.job_name: one.type for one in job.replicas}
    statuses = [
        {
            "active": 0,
            "failed": 0,
            "name": type_,
            "ready": 0,
            "succeeded": 0,
            "suspended": 0 if type_ in later else list(job_names.values()).count(type_),
        }
        for type_ in dict.fromkeys(job_names.values())
    ]
    return {rules.statuses_field: statuses, **({} if rules.has_own_deadline else {"restarts": 0})}


def _list_dependent(job: ObservedJob) -> set[str]:
    """Return the replicated jobs that are created after others."""
    return {
        get_text(one, "name")
        for _, one in get_entries(_find_policy(job), "replicatedJobs")
        if get_entries(one, "dependsOn")
    }
