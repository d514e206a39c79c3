"""The status rules that the kinds with a launcher share."""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.kinds.status_rules import StatusRules
from podplan.kinds.t9k.behaviors import job_status, restarts_and_end
from podplan.kinds.t9k.status import STATUS_BEHAVIORS


def build_status_rules(outcome: Behavior, restart: Behavior) -> StatusRules:
    """Build the rules of a kind whose launcher decides, and whose Pods are not restarted."""
    return StatusRules(
        behaviors=STATUS_BEHAVIORS,
        leader=("launcher",),
        outcome_behavior=outcome,
        restart_policy_path=None,
        default_restart_policy=restart,
        restart_limit_path=(),
        restart_limit=restart,
        shares_restarts=True,
        clean_up_path=("spec", "runPolicy", "cleanUpWorkers"),
        clean_up=restarts_and_end.CLEAN_UP_WORKERS,
        failed_message=job_status.SAYS_FAILED,
        finished_message=job_status.SAYS_FINISHED,
        deletes_workers_only=True,
    )
