"""The behaviors of a controller for a running job, as values; tools/status evaluates them."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Path
from podplan.core.provenance import Behavior
from podplan.core.typing import NamedTuple

ANY_TYPE = "*"  # among the replica types of a leader: the first replica, of whatever type


class StatusBehaviors(NamedTuple):
    """The behaviors that the kinds of a family share; those called ``…_message`` are texts of conditions.

    ``restart_policies`` and ``clean_up_policies`` are the behaviors by the value of the field.
    """

    restart_policies: Mapping[str, Behavior]
    clean_up_policies: Mapping[str, Behavior]
    pause: Behavior
    phase_pending: Behavior
    phase_running: Behavior
    phase_resuming: Behavior
    phase_unknown: Behavior
    initialized_message: Behavior
    normal_message: Behavior
    still_running_message: Behavior
    not_ended_message: Behavior
    not_started_message: Behavior
    paused_message: Behavior
    succeeded_message: Behavior
    failed_rule_message: Behavior
    out_of_reach_message: Behavior
    deadline_message: Behavior
    replica_failed_message: Behavior
    success_rules: Behavior
    success_without_rules: Behavior
    failure_rules: Behavior
    failure_without_rules: Behavior
    success_rules_unreachable: Behavior
    deadline: Behavior
    deleted_replica: Behavior
    restart_limit_shared: Behavior
    restart_order: Behavior
    restart_when_ended: Behavior


class StatusRules(NamedTuple):
    """How the controller of one kind decides about its replicas and the job.

    ``behaviors`` are those that its family shares. ``leader`` are the replica types of which the first
    replica decides, in the order of preference (ANY_TYPE is every type); empty if rules decide.
    ``restart_policy_path`` leads from a replica spec to its restart policy, None for a kind without restarts.
    ``restart_limit_path`` leads to the limit on restarts: in the CR with ``shares_restarts``, else in the
    replica spec. ``failed_message`` is the message of the conditions after a failure, with
    ``reports_replica_failure`` also of ReplicaFailure; ``finished_message`` is its message after success, if
    it differs. ``elastic_condition_path`` must be true for elastic bounds to apply. With
    ``deletes_workers_only``, clean-up never deletes the leader.
    """

    behaviors: StatusBehaviors
    leader: tuple[str, ...]
    outcome_behavior: Behavior
    restart_policy_path: Path | None
    default_restart_policy: Behavior
    restart_limit_path: Path
    restart_limit: Behavior
    shares_restarts: bool
    clean_up_path: Path
    clean_up: Behavior
    failed_message: Behavior
    reports_replica_failure: bool = False
    finished_message: Behavior | None = None
    elastic_condition_path: Path = ()
    deletes_workers_only: bool = False


class EndingBehaviors(NamedTuple):
    """The behaviors of a controller that reports conditions of a job and counts of its replicas.

    ``empty_main`` and ``empty_workers`` are what it does if the deciding type has ``replicas: 0``; None where
    it refuses that. ``no_end_time`` is what it does about the time to live without the time of the end.
    """

    conditions: Behavior
    success: Behavior
    failure: Behavior
    restarts: Behavior
    deadline: Behavior
    retries: Behavior
    clean_up: Behavior
    time_to_live: Behavior
    suspend: Behavior
    empty_main: Behavior | None = None
    empty_workers: Behavior | None = None
    no_end_time: Behavior | None = None


class EndingRules(NamedTuple):
    """How the controller of one kind decides over a job by the Pods of its replica types.

    The job succeeds with its ``main_types``. Without one its workers decide: all of them, worker 0 with
    ``first_worker_decides`` unless ``all_workers_field`` says otherwise, or any one if the CR has
    ``any_worker_field``. With ``tolerant_field`` a failed worker does not end the job. ``failed_pods`` states
    what happens to a failed Pod by its restart policy: "recreate", "delete" (and the job fails), "wait"
    (nothing happens) or, without an entry, the job fails. ExitCode does so from ``first_retried_code`` on and
    without a code. With ``keeps_time_of_final_code`` a job that fails by another code keeps the time of its
    end, without which its time to live never ends.
    ``messages`` are those of conditions; {kind}, {job}, {namespace}, {type} and {count} are filled in.
    ``failed_reason`` is the reason of the condition Failed without the kind. Without
    ``counts_others_after_main`` the replicas of other types are not counted once the main replica has ended.
    """

    behaviors: EndingBehaviors
    main_types: tuple[str, ...]
    default_restart_policy: str
    failed_pods: Mapping[str, str]
    messages: Mapping[str, str]
    first_retried_code: int = 128
    first_worker_decides: bool = False
    all_workers_field: str = ""
    any_worker_field: str = ""
    tolerant_field: str = ""
    failed_reason: str = "Failed"
    counts_others_after_main: bool = True
    keeps_time_of_final_code: bool = True


class JobBehaviors(NamedTuple):
    """The behaviors of the Job controller of Kubernetes; ``messages`` are those of conditions, by reason."""

    messages: Mapping[str, str]
    conditions: Behavior
    success: Behavior
    failure: Behavior
    restarts: Behavior
    deadline: Behavior
    clean_up: Behavior
    time_to_live: Behavior
    suspend: Behavior


class JobSetBehaviors(NamedTuple):
    """The behaviors of a controller that decides over a set of Jobs; ``messages`` are those of conditions, by
    reason."""

    messages: Mapping[str, str]
    conditions: Behavior
    success: Behavior
    failure: Behavior
    order: Behavior
    deadline: Behavior
    clean_up: Behavior
    time_to_live: Behavior
    suspend: Behavior


class JobsRules(NamedTuple):
    """How the status of a job follows from its Jobs.

    Without ``job_set`` the CR is the one Job. ``complete_type`` is the condition after success,
    ``suspended`` the reason and the message of the condition Suspended. With ``has_own_deadline`` the
    deadline is one of the CR, else of each Job. ``statuses_field`` has the counts of the Jobs.
    """

    job: JobBehaviors
    job_set: JobSetBehaviors | None = None
    complete_type: str = "Complete"
    suspended: tuple[str, str] = ("JobSuspended", "Job suspended")
    has_own_deadline: bool = False
    statuses_field: str = ""


class LauncherRules(NamedTuple):
    """How the status of a job follows from the Job of its launcher; ``behaviors`` are about its workers."""

    job: JobBehaviors
    behaviors: EndingBehaviors
    launcher: str
    worker: str
    messages: Mapping[str, str]


class OwnedJobRules(NamedTuple):
    """How the status of a job follows from one Job that its controller creates.

    ``job_path`` leads to the spec of that Job in the CR. ``other`` is the kind of what is created beside it,
    and ``clean_up_path`` leads to whether that is deleted at the end.
    """

    job: JobBehaviors
    job_path: Path
    other: str
    phases: Behavior
    clean_up: Behavior
    clean_up_path: Path


AnyStatusRules = StatusRules | EndingRules | JobsRules | LauncherRules | OwnedJobRules
