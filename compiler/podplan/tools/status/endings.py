"""The status of a job whose controller reports conditions, and decides by the Pods of its replica types.

Source: docs/evidence/training-operator.md#end-of-a-job.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from podplan.core.findings import Path
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.tools.status.conditions import Condition
from podplan.tools.status.observed_job import (
    ControllerDecision,
    ObservedJob,
    count_past_restarts,
    find_spec_paths,
    get_at,
)
from podplan.tools.status.replicas import ObservedReplica, describe_end, format_replicas, select_plural
from podplan.tools.status.result import ReplicaTransition, StatusResult

_WORKER = "Worker"
_ACTIVE_PHASES = ("Creating", "Pending", "Running", "Unknown")


class FailedPod(NamedTuple):
    """A failed replica, its restart policy, and what happens: recreate, delete, wait or fail."""

    replica: ObservedReplica
    policy: str
    action: str
    path: Path


class Ending(NamedTuple):
    """How a job ends: the phase, the message of the condition, and the decision.

    Without ``has_run`` it ends before the controller reports that it runs. ``is_final_code`` is true for
    an end by an exit code that ExitCode does not restart.
    """

    phase: str
    message: str
    decision: ControllerDecision
    has_run: bool = True
    is_final_code: bool = False


def reconcile_by_endings(job: ObservedJob) -> StatusResult:
    """Return the status that the controller reports, and its decisions with their reasons."""
    if _get_policy(job, "suspend") is True and not job.options.resumed:
        return _suspend(job)
    failed_pods = [_decide_failed_pod(job, one) for one in job.replicas if one.phase == "Failed"]
    ending = _find_limit(job) or _find_success(job) or _find_failure(job, failed_pods)
    return _finish(job, ending, failed_pods) if ending else _go_on(job, failed_pods)


def _get_policy(job: ObservedJob, field: str) -> Any:
    return get_at(job.cr, _policy_path(job, field))


def _policy_path(job: ObservedJob, field: str) -> Path:
    return (*job.kind_spec.run_policy_path, field)


def _format_message(job: ObservedJob, name: str, type_: str = "", count: int = 0) -> str:
    values = {
        "{kind}": job.cr["kind"],
        "{job}": job.name,
        "{namespace}": get_text(get_mapping(job.cr, "metadata"), "namespace") or "default",
        "{type}": type_,
        "{count}": str(count),
    }
    text = job.ending_rules.messages[name]
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return text


def _decide_failed_pod(job: ObservedJob, replica: ObservedReplica) -> FailedPod:
    rules, path = job.ending_rules, (*find_spec_paths(job).get(replica.type, ()), "restartPolicy")
    written = get_at(job.cr, path)
    policy = written if isinstance(written, str) else rules.default_restart_policy
    action = rules.failed_pods.get(policy, "fail")
    code = replica.exit_code  # without one the operator uses a number above all codes
    is_final = policy == "ExitCode" and code is not None and code < rules.first_retried_code
    if is_final:
        action = "fail"
    return FailedPod(replica, policy, action, path if written is not None else ())


def _find_limit(job: ObservedJob) -> Ending | None:
    """Return the end of a job that exceeds its deadline or its number of restarts."""
    behaviors, limit = job.ending_rules.behaviors, _get_policy(job, "backoffLimit")
    if isinstance(limit, int) and (cause := _find_retries(job, limit)) is not None:
        reason, replicas = cause
        decision = ControllerDecision(
            "failure",
            f"the job fails: {reason}",
            behaviors.retries,
            tuple(replicas),
            _policy_path(job, "backoffLimit"),
        )
        return Ending("Failed", _format_message(job, "retries"), decision)
    deadline = _get_policy(job, "activeDeadlineSeconds")
    if isinstance(deadline, int) and job.elapsed is not None and job.elapsed >= deadline:
        text = f"the job fails: it ran for {job.elapsed} s, and activeDeadlineSeconds is {deadline}"
        decision = ControllerDecision(
            "failure", text, behaviors.deadline, (), _policy_path(job, "activeDeadlineSeconds")
        )
        return Ending("Failed", _format_message(job, "deadline"), decision)
    return None


def _find_retries(job: ObservedJob, limit: int) -> tuple[str, list[ObservedReplica]] | None:
    """Return why backoffLimit ends a job, and the replicas that cause it; None if it does not."""
    if limit < 0:
        return f"backoffLimit is {limit}, which any number of restarts exceeds, also none", []
    restarted = [one for one in job.replicas if one.phase == "Running" and one.restarts]
    count = sum(one.restarts for one in restarted)
    if count and count >= limit:
        times = "once" if count == 1 else f"{count} times"
        return f"its containers were restarted {times}, and backoffLimit is {limit}", restarted
    failed = [one for one in job.replicas if one.phase == "Failed"]
    if failed and limit == 0:
        return f"{failed[0].short_name} {describe_end(failed[0])}, and backoffLimit is 0", failed
    return None


def _list_deciding(job: ObservedJob) -> tuple[list[ObservedReplica], bool]:
    """Return the replicas that decide over success, and whether one of them is enough."""
    rules, spec = job.ending_rules, get_mapping(job.cr, "spec")
    main = [one for one in job.replicas if one.type.lower() in {name.lower() for name in rules.main_types}]
    if main:
        return main, False
    workers = [one for one in job.replicas if one.type.lower() == _WORKER.lower()]
    if rules.first_worker_decides and spec.get(rules.all_workers_field) != "AllWorkers":
        return workers[:1], False
    return workers, bool(rules.any_worker_field and rules.any_worker_field in spec)


def _find_success(job: ObservedJob) -> Ending | None:
    deciding, is_one_enough = _list_deciding(job)
    if (empty := _find_type_without_replicas(job, deciding)) is not None:
        type_, path = empty
        text = f"the job succeeds at once: {type_} has 0 replicas, so none of them has to complete"
        behaviors = job.ending_rules.behaviors
        is_main = type_.lower() in {name.lower() for name in job.ending_rules.main_types}
        behavior = (behaviors.empty_main if is_main else behaviors.empty_workers) or behaviors.success
        decision = ControllerDecision("success", text, behavior, (), path)
        return Ending("Succeeded", _format_message(job, "succeeded"), decision, has_run=False)
    succeeded = [one for one in deciding if one.phase == "Succeeded"]
    if not succeeded or (len(succeeded) < len(deciding) and not is_one_enough):
        return None
    text = (
        f"the job succeeds: {format_replicas(succeeded)} {select_plural(succeeded, 'has', 'have')} completed"
    )
    decision = ControllerDecision("success", text, job.ending_rules.behaviors.success, tuple(succeeded))
    return Ending("Succeeded", _format_message(job, "succeeded"), decision)


def _find_type_without_replicas(
    job: ObservedJob, deciding: Sequence[ObservedReplica]
) -> tuple[str, Path] | None:
    """Return a deciding type with ``replicas: 0``, for which the operator creates a Pod nevertheless."""
    spec_paths = find_spec_paths(job)
    for type_ in dict.fromkeys(one.type for one in deciding):
        path = (*spec_paths.get(type_, ()), "replicas")
        if type_ in spec_paths and get_at(job.cr, path) == 0:
            return type_, path
    return None


def _find_failure(job: ObservedJob, failed_pods: Sequence[FailedPod]) -> Ending | None:
    rules, spec = job.ending_rules, get_mapping(job.cr, "spec")
    is_tolerant = bool(rules.tolerant_field) and spec.get(rules.tolerant_field) is True
    fatal = [
        one
        for one in failed_pods
        if one.action in ("fail", "delete")
        and not (is_tolerant and one.replica.type == _WORKER and one.policy != "ExitCode")
    ]
    if not fatal:
        return None
    first = fatal[0]
    same = [one for one in fatal if one.replica.type == first.replica.type]
    name = "failing" if first.policy == "ExitCode" else "failed"
    text = f"the job fails with {first.replica.short_name}, which {describe_end(first.replica)}"
    replicas = tuple(one.replica for one in same)
    decision = ControllerDecision("failure", text, rules.behaviors.failure, replicas, first.path)
    message = _format_message(job, name, first.replica.type, len(same))
    return Ending("Failed", message, decision, is_final_code=name == "failing")


def _explain_failed_pods(
    job: ObservedJob, failed_pods: Sequence[FailedPod], has_ended: bool
) -> list[ControllerDecision]:
    decisions = []
    for failed in failed_pods:
        effect = {
            "recreate": "is not created again: the job has ended" if has_ended else "is created again",
            "delete": "is deleted, and the job fails",
            "wait": "is neither created again nor deleted: the job waits",
            "fail": "is not created again",
        }[failed.action]
        reason = f"the policy is {failed.policy}{'' if failed.path else ', the default'}"
        text = f"{failed.replica.short_name} {describe_end(failed.replica)} and {effect}: {reason}"
        behavior = job.ending_rules.behaviors.restarts
        decisions.append(ControllerDecision("restart", text, behavior, (failed.replica,), failed.path))
    return decisions


def _finish(job: ObservedJob, ending: Ending, failed_pods: Sequence[FailedPod]) -> StatusResult:
    rules = job.ending_rules
    removed = {one.replica.name for one in failed_pods if one.action == "delete"}
    is_timeless = ending.is_final_code and not rules.keeps_time_of_final_code
    deleted, clean_up = _decide_clean_up(job, removed, is_timeless)
    gone = removed | {one.name for one in deleted}
    decisions = (*_explain_failed_pods(job, failed_pods, True), ending.decision, *clean_up)
    reason = rules.failed_reason if ending.phase == "Failed" else ending.phase
    conditions = (
        _build_condition(job, "Created", True, "Created", _format_message(job, "created")),
        *(
            [_build_condition(job, "Running", False, "Running", _format_running(job))]
            if ending.has_run
            else []
        ),
        _build_condition(job, ending.phase, True, reason, ending.message),
    )
    transitions = tuple(
        ReplicaTransition(one, "Deleted", is_deleted=True)
        if one.name in gone
        else ReplicaTransition(one, one.phase)
        for one in job.replicas
    )
    headline = ending.decision.text.partition(": ")[2] or ending.decision.text.removeprefix(
        "the job fails with "
    )
    return StatusResult(
        job,
        ending.phase,
        ending.decision.behavior,
        headline,
        transitions,
        conditions,
        decisions,
        count_past_restarts(job),
    )


def _decide_clean_up(
    job: ObservedJob, removed: Collection[str], is_timeless: bool
) -> tuple[list[ObservedReplica], list[ControllerDecision]]:
    """Return the replicas that the end of a job deletes in addition to ``removed``, and why.

    ``is_timeless`` is true for an end whose time the controller does not store.
    """
    behaviors, path = job.ending_rules.behaviors, _policy_path(job, "cleanPodPolicy")
    clean_up = job.kind_spec.clean_up
    if get_at(job.cr, path) is None and clean_up is not None and clean_up.other_field:
        path = ("spec", *clean_up.other_field)
    policy = get_at(job.cr, path)
    path = path if policy is not None else ()
    name = policy if isinstance(policy, str) else "None"
    deleted = [
        one
        for one in job.replicas
        if one.phase != "Deleted"
        and one.name not in removed
        and name != "None"
        and (name != "Running" or one.phase in _ACTIVE_PHASES)
    ]
    gone = {*removed, *(one.name for one in deleted)}
    staying = [one for one in job.replicas if one.phase in _ACTIVE_PHASES and one.name not in gone]
    what = f"{format_replicas(deleted)} {select_plural(deleted, 'is', 'are')} deleted" if deleted else ""
    text = f"{what or 'nothing is deleted'}: cleanPodPolicy is {name}{'' if path else ', the default'}"
    if staying:
        text += (
            f"; {format_replicas(staying)} "
            f"{select_plural(staying, 'stays with what it holds', 'stay with what they hold')}"
        )
    decisions = [
        ControllerDecision("clean-up", text, behaviors.clean_up, tuple(deleted), path),
    ]
    seconds = _get_policy(job, "ttlSecondsAfterFinished")
    if isinstance(seconds, int):
        when = "at once" if seconds == 0 else f"{seconds} s after its end"
        text = f"the job itself is deleted {when}, with all that is left of it"
        behavior = behaviors.time_to_live
        if is_timeless and behaviors.no_end_time is not None:
            text = "the job itself is never deleted: it has no completionTime"
            behavior = behaviors.no_end_time
        decisions.append(
            ControllerDecision("clean-up", text, behavior, (), _policy_path(job, "ttlSecondsAfterFinished"))
        )
    return deleted, decisions


def _go_on(job: ObservedJob, failed_pods: Sequence[FailedPod]) -> StatusResult:
    deciding, is_one_enough = _list_deciding(job)
    created_again = {one.replica.name for one in failed_pods if one.action == "recreate"}
    main = {name.lower() for name in job.ending_rules.main_types}
    restarting = [
        one
        for one in failed_pods
        if one.action == "wait" or (one.action == "recreate" and one.replica.type.lower() in main)
    ]
    conditions = [_build_condition(job, "Created", True, "Created", _format_message(job, "created"))]
    phase = "Created"
    if restarting:
        phase, type_ = "Restarting", restarting[0].replica.type
        message = _format_message(job, "restarting", type_, len(restarting))
        conditions.append(_build_condition(job, phase, True, phase, message))
    elif any(one.phase == "Running" for one in _list_running_types(job, deciding)):
        phase = "Running"
        conditions.append(_build_condition(job, phase, True, phase, _format_running(job)))
    awaited = [one for one in deciding if one.phase != "Succeeded"]
    quantity = "one of them is enough" if is_one_enough else "all of them decide"
    text = (
        f"not decided yet: the job succeeds with {format_replicas(awaited)}"
        f"{f', {quantity}' if len(deciding) > 1 else ''}"
        if deciding
        else "nothing decides: the job has no replica that does"
    )
    transitions = tuple(
        ReplicaTransition(
            one,
            "Creating" if one.name in created_again or one.phase == "Deleted" else one.phase,
            is_restarted=one.name in created_again,
        )
        for one in job.replicas
    )
    restarts = count_past_restarts(job)
    for failed in failed_pods:
        restarts[failed.replica.type] += failed.replica.name in created_again
    decisions = (
        *_explain_failed_pods(job, failed_pods, False),
        ControllerDecision("success", text, job.ending_rules.behaviors.success, tuple(awaited)),
    )
    return StatusResult(
        job,
        phase,
        job.ending_rules.behaviors.conditions,
        _explain_activity(job, failed_pods),
        transitions,
        tuple(conditions),
        decisions,
        restarts,
    )


def _list_running_types(job: ObservedJob, deciding: Sequence[ObservedReplica]) -> list[ObservedReplica]:
    """Return the replicas by which a job counts as running: those of the types that decide."""
    types = {one.type for one in deciding}
    return [one for one in job.replicas if one.type in types]


def _explain_activity(job: ObservedJob, failed_pods: Sequence[FailedPod]) -> str:
    if failed_pods:
        first = failed_pods[0]
        effect = "is created again" if first.action == "recreate" else "is left as it is"
        return f"{first.replica.short_name} {describe_end(first.replica)} and {effect}"
    running = [one for one in job.replicas if one.phase == "Running"]
    return f"{len(running)} of {len(job.replicas)} replicas run" if job.replicas else "it has no replicas"


def _suspend(job: ObservedJob) -> StatusResult:
    rules = job.ending_rules
    existing = tuple(one for one in job.replicas if one.phase != "Deleted")
    text = (
        f"{format_replicas(existing)} {select_plural(existing, 'is', 'are')} deleted"
        if existing
        else "no Pods are made"
    )
    decision = ControllerDecision(
        "pause",
        f"{text}: the job is suspended",
        rules.behaviors.suspend,
        existing,
        _policy_path(job, "suspend"),
    )
    return StatusResult(
        job,
        "Suspended",
        rules.behaviors.suspend,
        "it is suspended, and has no Pods",
        tuple(ReplicaTransition(one, "Deleted", is_deleted=one.phase != "Deleted") for one in job.replicas),
        (
            _build_condition(job, "Created", True, "Created", _format_message(job, "created")),
            _build_condition(job, "Suspended", True, "Suspended", _format_message(job, "suspended")),
        ),
        (decision,),
        count_past_restarts(job),
    )


def _format_running(job: ObservedJob) -> str:
    deciding, _ = _list_deciding(job)
    main = {name.lower() for name in job.ending_rules.main_types}
    has_main = any(one.type.lower() in main for one in deciding)
    return _format_message(job, "running" if has_main else "running-workers")


def _build_condition(job: ObservedJob, type_: str, status: bool, reason: str, message: str) -> Condition:
    behavior = job.ending_rules.behaviors.conditions
    return Condition(type_, status, f"{job.cr['kind']}{reason}", message, behavior)
