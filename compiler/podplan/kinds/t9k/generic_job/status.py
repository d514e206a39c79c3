"""The status rules of GenericJob."""

from __future__ import annotations

from podplan.kinds.status_rules import StatusRules
from podplan.kinds.t9k.behaviors import job_status, restarts_and_end
from podplan.kinds.t9k.status import STATUS_BEHAVIORS

STATUS_RULES = StatusRules(
    behaviors=STATUS_BEHAVIORS,
    leader=(),
    outcome_behavior=restarts_and_end.SUCCESS_RULES,
    restart_policy_path=("restartPolicy", "policy"),
    default_restart_policy=restarts_and_end.RESTART_POLICY,
    restart_limit_path=("restartPolicy", "limit"),
    restart_limit=restarts_and_end.RESTART_LIMIT,
    shares_restarts=False,
    clean_up_path=("spec", "cleanUpPolicy"),
    clean_up=restarts_and_end.CLEAN_UP_DEFAULT,
    failed_message=job_status.SAYS_FAILED_RULE,
)
