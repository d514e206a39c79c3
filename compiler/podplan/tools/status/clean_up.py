"""Which Pods are deleted when a job ends (docs/evidence/t9k-common.md#clean-up-policy)."""

from __future__ import annotations

from collections.abc import Sequence

from podplan.core.findings import Path
from podplan.core.provenance import Behavior
from podplan.core.typing import NamedTuple
from podplan.tools.status.observed_job import ControllerDecision, ObservedJob, get_at
from podplan.tools.status.replicas import ObservedReplica, format_replicas, select_plural

UNFINISHED_PHASES = ("Creating", "Pending", "Running", "Unknown")


class CleanUpResult(NamedTuple):
    """The replicas whose Pods are deleted, and the decision about them."""

    deleted_replicas: tuple[ObservedReplica, ...]
    decision: ControllerDecision


def decide_clean_up(job: ObservedJob, has_ended: bool) -> CleanUpResult:
    """Return what is deleted of a job that has ended; if it has not, nothing, with the reason."""
    if job.rules.deletes_workers_only:
        return _decide_worker_clean_up(job, has_ended)
    policies = job.rules.behaviors.clean_up_policies
    policy_field = get_at(job.cr, job.rules.clean_up_path)
    is_known = isinstance(policy_field, str) and policy_field in policies
    default = job.options.resolve_behavior(job.rules.clean_up)
    policy = policy_field if is_known else default.value
    behavior = policies[policy] if is_known else default
    path = job.rules.clean_up_path if is_known else ()
    if not has_ended:
        return CleanUpResult(
            (),
            _build_pending_decision(
                f"cleanUpPolicy is {policy}{'' if is_known else ', the default'}", behavior, path
            ),
        )
    existing = [one for one in job.replicas if one.phase != "Deleted"]
    deleted = [
        one
        for one in existing
        if policy == "All" or (policy == "Unfinished" and one.phase in UNFINISHED_PHASES)
    ]
    return _build_clean_up(
        job, deleted, f"cleanUpPolicy is {policy}{'' if is_known else ', the default'}", behavior, path
    )


def _decide_worker_clean_up(job: ObservedJob, has_ended: bool) -> CleanUpResult:
    deletes_workers = get_at(job.cr, job.rules.clean_up_path) is True
    path = job.rules.clean_up_path if get_at(job.cr, job.rules.clean_up_path) is not None else ()
    behavior, why = (
        job.rules.clean_up,
        f"cleanUpWorkers is {'true' if deletes_workers else 'false'}{'' if path else ', the default'}",
    )
    if not has_ended:
        return CleanUpResult((), _build_pending_decision(why, behavior, path))
    workers = [one for one in job.replicas if one.type not in job.rules.leader and one.phase != "Deleted"]
    return _build_clean_up(job, workers if deletes_workers else [], why, behavior, path)


def _build_pending_decision(explanation: str, behavior: Behavior, path: Path) -> ControllerDecision:
    return ControllerDecision(
        "clean-up", f"nothing is deleted, for the job has not ended; {explanation}", behavior, (), path
    )


def _build_clean_up(
    job: ObservedJob, deleted: Sequence[ObservedReplica], explanation: str, behavior: Behavior, path: Path
) -> CleanUpResult:
    names = {one.name for one in deleted}
    remaining = [one for one in job.replicas if one.phase in UNFINISHED_PHASES and one.name not in names]
    if deleted:
        text = f"{format_replicas(deleted)} {select_plural(deleted, 'is', 'are')} deleted: {explanation}"
    else:
        text = f"nothing is deleted: {explanation}"
    if remaining:
        text += (
            f"; {format_replicas(remaining)}"
            f" {select_plural(remaining, 'stays with what it holds', 'stay with what they hold')}"
        )
    return CleanUpResult(tuple(deleted), ControllerDecision("clean-up", text, behavior, tuple(deleted), path))
