"""What the kinds differ in, as far as their status goes: one row each."""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.core.provenance import Fact
from podplan.core.typing import NamedTuple
from podplan.kinds.t9k.behaviors import job_status, termination


class Kind(NamedTuple):
    """How one kind decides about its replicas and itself.

    ``leader`` is the replica that decides over the job: "first", a replica type, or "" where rules do.
    ``policy`` is the way from a replica spec to its restart policy, None for a kind without restarts.
    ``limit_at`` is where the restarts are granted: in the CR when ``shared`` by all replicas, else in the
    replica spec. ``says_failed`` is what the conditions say then, and with ``failure_says_so``
    ReplicaFailure says it too; ``says_finished`` is what that says of success, if words of its own.
    ``elastic_if`` must be true for ``elastic`` to count.
    """

    leader: str
    outcome: Fact
    specs: Path
    policy: Path | None
    default_policy: Fact
    limit_at: Path
    limit: Fact
    shared: bool
    clean_up_at: Path
    clean_up: Fact
    says_failed: Fact
    failure_says_so: bool = False
    says_finished: Fact | None = None
    elastic_if: Path = ()


_BACKOFF: Path = ("spec", "runPolicy", "backoffLimit")
_CLEAN_UP: Path = ("spec", "runPolicy", "cleanUpPolicy")

TABLE = {
    "PyTorchTrainingJob": Kind(
        leader="first",
        outcome=termination.OUTCOME_PYTORCH,
        specs=("spec", "replicaSpecs"),
        policy=("restartPolicy",),
        default_policy=termination.RESTART_POLICY_PYTORCH,
        limit_at=_BACKOFF,
        limit=termination.BACKOFF_LIMIT,
        shared=True,
        clean_up_at=_CLEAN_UP,
        clean_up=termination.CLEAN_UP_DEFAULT_ASSUMED,
        says_failed=job_status.SAYS_FAILED,
        elastic_if=("spec", "torchrunConfig", "enabled"),
    ),
    "DeepSpeedJob": Kind(
        leader="first",
        outcome=termination.OUTCOME_DEEPSPEED,
        specs=("spec", "worker"),
        policy=("restartPolicy",),
        default_policy=termination.RESTART_POLICY,
        limit_at=_BACKOFF,
        limit=termination.BACKOFF_LIMIT_DEEPSPEED,
        shared=True,
        clean_up_at=_CLEAN_UP,
        clean_up=termination.CLEAN_UP_DEFAULT_ASSUMED,
        says_failed=job_status.SAYS_FAILED_DEEPSPEED,
        failure_says_so=True,
        elastic_if=("spec", "elastic", "enabled"),
    ),
    "ColossalAIJob": Kind(
        leader="launcher",
        outcome=termination.OUTCOME_COLOSSALAI,
        specs=("spec", "replicaSpecs"),
        policy=None,
        default_policy=termination.RESTART_COLOSSALAI,
        limit_at=(),
        limit=termination.RESTART_COLOSSALAI,
        shared=True,
        clean_up_at=("spec", "runPolicy", "cleanUpWorkers"),
        clean_up=termination.CLEAN_UP_WORKERS,
        says_failed=job_status.SAYS_FAILED,
        says_finished=job_status.SAYS_FINISHED,
    ),
    "GenericJob": Kind(
        leader="",
        outcome=termination.SUCCESS_RULES,
        specs=("spec", "replicaSpecs"),
        policy=("restartPolicy", "policy"),
        default_policy=termination.RESTART_POLICY,
        limit_at=("restartPolicy", "limit"),
        limit=termination.RESTART_LIMIT,
        shared=False,
        clean_up_at=("spec", "cleanUpPolicy"),
        clean_up=termination.CLEAN_UP_DEFAULT,
        says_failed=job_status.SAYS_FAILED_RULE,
    ),
}
