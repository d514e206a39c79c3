"""The status rules of MPIJob."""

from __future__ import annotations

from podplan.kinds.status_rules import StatusRules
from podplan.kinds.t9k.behaviors import job_status, termination
from podplan.kinds.t9k.status import STATUS_BEHAVIORS

STATUS_RULES = StatusRules(
    behaviors=STATUS_BEHAVIORS,
    leader=("launcher",),
    outcome_behavior=termination.OUTCOME_MPI,
    restart_policy_path=None,
    default_restart_policy=termination.RESTART_MPI,
    restart_limit_path=(),
    restart_limit=termination.RESTART_MPI,
    shares_restarts=True,
    clean_up_path=("spec", "runPolicy", "cleanUpWorkers"),
    clean_up=termination.CLEAN_UP_WORKERS,
    failed_message=job_status.SAYS_FAILED,
    finished_message=job_status.SAYS_FINISHED,
    deletes_workers_only=True,
)
