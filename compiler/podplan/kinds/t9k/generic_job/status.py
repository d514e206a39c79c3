"""The status rules of GenericJob."""

from __future__ import annotations

from podplan.kinds.status_rules import StatusRules
from podplan.kinds.t9k.behaviors import job_status, termination
from podplan.kinds.t9k.status import STATUS_BEHAVIORS

STATUS_RULES = StatusRules(
    behaviors=STATUS_BEHAVIORS,
    leader=(),
    outcome_behavior=termination.SUCCESS_RULES,
    restart_policy_path=("restartPolicy", "policy"),
    default_restart_policy=termination.RESTART_POLICY,
    restart_limit_path=("restartPolicy", "limit"),
    restart_limit=termination.RESTART_LIMIT,
    shares_restarts=False,
    clean_up_path=("spec", "cleanUpPolicy"),
    clean_up=termination.CLEAN_UP_DEFAULT,
    failed_message=job_status.SAYS_FAILED_RULE,
)
