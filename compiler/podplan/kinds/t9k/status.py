"""The status rules that the controllers of T9k share."""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.kinds.status_rules import StatusBehaviors
from podplan.kinds.t9k.behaviors import job_status, termination

BACKOFF_PATH: Path = ("spec", "runPolicy", "backoffLimit")
CLEAN_UP_PATH: Path = ("spec", "runPolicy", "cleanUpPolicy")

STATUS_BEHAVIORS = StatusBehaviors(
    restart_policies={
        "Never": termination.RESTART_NEVER_AGAIN,
        "OnFailure": termination.RESTART_ON_FAILURE,
        "Always": termination.RESTART_ALWAYS,
        "ExitCode": termination.RESTART_EXIT_CODE,
    },
    clean_up_policies={
        "None": termination.CLEAN_UP_NONE,
        "Unfinished": termination.CLEAN_UP_UNFINISHED,
        "All": termination.CLEAN_UP_ALL,
    },
    pause=job_status.PAUSE,
    phase_pending=job_status.PHASE_PENDING,
    phase_running=job_status.PHASE_RUNNING,
    phase_resuming=job_status.PHASE_RESUMING,
    phase_unknown=job_status.PHASE_UNKNOWN,
    initialized_message=job_status.SAYS_INITIALIZED,
    normal_message=job_status.SAYS_NORMAL,
    still_running_message=job_status.SAYS_STILL_RUNNING,
    not_ended_message=job_status.SAYS_NOT_ENDED,
    not_started_message=job_status.SAYS_NOT_STARTED,
    paused_message=job_status.SAYS_PAUSED,
    succeeded_message=job_status.SAYS_SUCCEEDED,
    failed_rule_message=job_status.SAYS_FAILED_RULE,
    out_of_reach_message=job_status.SAYS_OUT_OF_REACH,
    deadline_message=job_status.SAYS_DEADLINE,
    replica_failed_message=job_status.SAYS_REPLICA_FAILED,
    success_rules=termination.SUCCESS_RULES,
    success_without_rules=termination.SUCCESS_WITHOUT_RULES,
    failure_rules=termination.FAILURE_RULES,
    failure_without_rules=termination.FAILURE_WITHOUT_RULES,
    success_rules_unreachable=termination.SUCCESS_RULES_UNREACHABLE,
    deadline=termination.DEADLINE,
    deleted_replica=termination.DELETED_REPLICA,
    restart_limit_shared=termination.RESTART_LIMIT_SHARED,
    restart_order=termination.RESTART_ORDER,
    restart_when_ended=termination.RESTART_WHEN_ENDED,
)
