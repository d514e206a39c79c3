"""What the kinds differ in, as far as their status goes: one row each."""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.core.provenance import Behavior
from podplan.core.typing import NamedTuple
from podplan.kinds.t9k.behaviors import job_status, termination


class KindStatusRules(NamedTuple):
    """How one kind decides about its replicas and itself.

    ``leader`` is the replica that decides over the job: "first", a replica type, or "" where rules do.
    ``policy`` is the way from a replica spec to its restart policy, None for a kind without restarts.
    ``limit_at`` is where the restarts are granted: in the CR when ``shared`` by all replicas, else in the
    replica spec. ``says_failed`` is what the conditions say then, and with ``failure_says_so``
    ReplicaFailure says it too; ``says_finished`` is what that says of success, if words of its own.
    ``elastic_if`` must be true for ``elastic`` to count.
    """

    leader: str
    outcome_behavior: Behavior
    specs_path: Path
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


_BACKOFF_PATH: Path = ("spec", "runPolicy", "backoffLimit")
_CLEAN_UP_PATH: Path = ("spec", "runPolicy", "cleanUpPolicy")

STATUS_RULES = {
    "PyTorchTrainingJob": KindStatusRules(
        leader="first",
        outcome_behavior=termination.OUTCOME_PYTORCH,
        specs_path=("spec", "replicaSpecs"),
        restart_policy_path=("restartPolicy",),
        default_restart_policy=termination.RESTART_POLICY_PYTORCH,
        restart_limit_path=_BACKOFF_PATH,
        restart_limit=termination.BACKOFF_LIMIT,
        shares_restarts=True,
        clean_up_path=_CLEAN_UP_PATH,
        clean_up=termination.CLEAN_UP_DEFAULT_ASSUMED,
        failed_message=job_status.SAYS_FAILED,
        elastic_condition_path=("spec", "torchrunConfig", "enabled"),
    ),
    "DeepSpeedJob": KindStatusRules(
        leader="first",
        outcome_behavior=termination.OUTCOME_DEEPSPEED,
        specs_path=("spec", "worker"),
        restart_policy_path=("restartPolicy",),
        default_restart_policy=termination.RESTART_POLICY,
        restart_limit_path=_BACKOFF_PATH,
        restart_limit=termination.BACKOFF_LIMIT_DEEPSPEED,
        shares_restarts=True,
        clean_up_path=_CLEAN_UP_PATH,
        clean_up=termination.CLEAN_UP_DEFAULT_ASSUMED,
        failed_message=job_status.SAYS_FAILED_DEEPSPEED,
        reports_replica_failure=True,
        elastic_condition_path=("spec", "elastic", "enabled"),
    ),
    "ColossalAIJob": KindStatusRules(
        leader="launcher",
        outcome_behavior=termination.OUTCOME_COLOSSALAI,
        specs_path=("spec", "replicaSpecs"),
        restart_policy_path=None,
        default_restart_policy=termination.RESTART_COLOSSALAI,
        restart_limit_path=(),
        restart_limit=termination.RESTART_COLOSSALAI,
        shares_restarts=True,
        clean_up_path=("spec", "runPolicy", "cleanUpWorkers"),
        clean_up=termination.CLEAN_UP_WORKERS,
        failed_message=job_status.SAYS_FAILED,
        finished_message=job_status.SAYS_FINISHED,
    ),
    "GenericJob": KindStatusRules(
        leader="",
        outcome_behavior=termination.SUCCESS_RULES,
        specs_path=("spec", "replicaSpecs"),
        restart_policy_path=("restartPolicy", "policy"),
        default_restart_policy=termination.RESTART_POLICY,
        restart_limit_path=("restartPolicy", "limit"),
        restart_limit=termination.RESTART_LIMIT,
        shares_restarts=False,
        clean_up_path=("spec", "cleanUpPolicy"),
        clean_up=termination.CLEAN_UP_DEFAULT,
        failed_message=job_status.SAYS_FAILED_RULE,
    ),
}
