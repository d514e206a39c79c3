"""Whether a job has ended: by the deciding replica, by rules, or by the deadline."""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.tools.status.observed_job import ControllerDecision, ObservedJob, find_leader, get_at
from podplan.tools.status.outcome import JobOutcome, build_failure, build_success, build_undecided
from podplan.tools.status.replicas import ObservedReplica, describe_end
from podplan.tools.status.success_rules import SucceededByName, decide_by_rules


def decide_outcome(job: ObservedJob, succeeded_by_name: SucceededByName) -> JobOutcome:
    """Decide how the job ends, from its replicas that have ended and are not restarted."""
    rule_outcome = (
        _decide_by_leader(job, succeeded_by_name)
        if job.rules.leader
        else decide_by_rules(job, succeeded_by_name)
    )
    return (
        _fail_by_deadline(job) if rule_outcome.phase != "Failed" and _exceeds_deadline(job) else rule_outcome
    )


def _exceeds_deadline(job: ObservedJob) -> bool:
    deadline = get_at(job.cr, _find_deadline_path(job))
    return isinstance(deadline, int) and job.elapsed is not None and job.elapsed > deadline


def _find_deadline_path(job: ObservedJob) -> Path:
    return (*job.kind_spec.run_policy_path, "activeDeadlineSeconds")


def _fail_by_deadline(job: ObservedJob) -> JobOutcome:
    path = _find_deadline_path(job)
    why = f"it ran for {job.elapsed} s, and activeDeadlineSeconds is {get_at(job.cr, path)}"
    decision = ControllerDecision("failure", f"the job fails: {why}", job.rules.behaviors.deadline, (), path)
    return build_failure(job, why, decision, job.rules.behaviors.deadline_message)


def _decide_by_leader(job: ObservedJob, succeeded_by_name: SucceededByName) -> JobOutcome:
    behavior, leading_replica = job.rules.outcome_behavior, find_leader(job)
    if leading_replica is None:
        return build_undecided(
            job, ControllerDecision("success", "nothing decides: the job has no replica that does", behavior)
        )
    if leading_replica.name not in succeeded_by_name:
        text = (
            f"not decided yet: {leading_replica.short_name} decides, and {_describe_state(leading_replica)}"
        )
        return build_undecided(job, ControllerDecision("success", text, behavior, (leading_replica,)))
    if succeeded_by_name[leading_replica.name]:
        log_note = (
            "; whether the training succeeded, only its log tells" if job.rules.finished_message else ""
        )
        text = f"the job succeeds with {leading_replica.short_name}, which completed{log_note}"
        return build_success(
            job,
            f"{leading_replica.short_name} has completed{log_note}",
            ControllerDecision("success", text, behavior, (leading_replica,)),
        )
    end_text = describe_end(leading_replica)
    decision = ControllerDecision(
        "failure",
        f"the job fails with {leading_replica.short_name}, which {end_text}",
        behavior,
        (leading_replica,),
    )
    return build_failure(
        job,
        f"{leading_replica.short_name} {end_text}",
        decision,
        job.rules.failed_message,
        replica=leading_replica,
    )


def _describe_state(replica: ObservedReplica) -> str:
    """Describe the state of a replica that decides nothing yet, as the predicate of a sentence."""
    if replica.has_ended:
        return "is started again"
    return {"Running": "is running", "Creating": "is being created", "Deleted": "is gone"}.get(
        replica.phase, f"is {replica.phase}"
    )
