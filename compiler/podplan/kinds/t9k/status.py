"""The status rules that the controllers of T9k share."""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.kinds.status_rules import StatusBehaviors
from podplan.kinds.t9k.behaviors import job_status, restarts_and_end

BACKOFF_PATH: Path = ("spec", "runPolicy", "backoffLimit")
CLEAN_UP_PATH: Path = ("spec", "runPolicy", "cleanUpPolicy")

STATUS_BEHAVIORS = StatusBehaviors(
    restart_policies={
        "Never": restarts_and_end.RESTART_NEVER_AGAIN,
        "OnFailure": restarts_and_end.RESTART_ON_FAILURE,
        "Always": restarts_and_end.RESTART_ALWAYS,
        "ExitCode": restarts_and_end.RESTART_EXIT_CODE,
    },
    clean_up_policies={
        "None": restarts_and_end.CLEAN_UP_NONE,
        "Unfinished": restarts_and_end.CLEAN_UP_UNFINISHED,
        "All": restarts_and_end.CLEAN_UP_ALL,
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
    success_rules=restarts_and_end.SUCCESS_RULES,
    success_without_rules=restarts_and_end.SUCCESS_WITHOUT_RULES,
    failure_rules=restarts_and_end.FAILURE_RULES,
    failure_without_rules=restarts_and_end.FAILURE_WITHOUT_RULES,
    success_rules_unreachable=restarts_and_end.SUCCESS_RULES_UNREACHABLE,
    deadline=restarts_and_end.DEADLINE,
    deleted_replica=restarts_and_end.DELETED_REPLICA,
    restart_limit_shared=restarts_and_end.RESTART_LIMIT_SHARED,
    restart_order=restarts_and_end.RESTART_ORDER,
    restart_when_ended=restarts_and_end.RESTART_WHEN_ENDED,
)
