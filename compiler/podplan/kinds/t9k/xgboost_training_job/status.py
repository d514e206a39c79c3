"""The status rules of XGBoostTrainingJob."""

from __future__ import annotations

from podplan.kinds.status_rules import StatusRules
from podplan.kinds.t9k.behaviors import job_status, restarts_and_end
from podplan.kinds.t9k.status import BACKOFF_PATH, CLEAN_UP_PATH, STATUS_BEHAVIORS

STATUS_RULES = StatusRules(
    behaviors=STATUS_BEHAVIORS,
    leader=("master",),
    outcome_behavior=restarts_and_end.OUTCOME_XGBOOST,
    restart_policy_path=("restartPolicy",),
    default_restart_policy=restarts_and_end.RESTART_POLICY,
    restart_limit_path=BACKOFF_PATH,
    restart_limit=restarts_and_end.BACKOFF_LIMIT_TYPED,
    shares_restarts=True,
    clean_up_path=CLEAN_UP_PATH,
    clean_up=restarts_and_end.CLEAN_UP_DEFAULT_ASSUMED,
    failed_message=job_status.SAYS_FAILED,
)
