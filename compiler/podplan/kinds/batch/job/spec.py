"""What the rest of podplan may ask about Jobs."""

from __future__ import annotations

from podplan.core.typing import TYPE_CHECKING
from podplan.kinds.batch.validation import validate_job
from podplan.kinds.spec import KindSpec, QueueIntegration

if TYPE_CHECKING:
    from podplan.kinds.change_effects import ChangeRules
    from podplan.kinds.status_rules import JobsRules


def load_status_rules() -> JobsRules:
    from podplan.kinds.batch.status import STATUS_RULES

    return STATUS_RULES


def load_change_rules() -> ChangeRules:
    from podplan.kinds.batch.change_effects import CHANGE_RULES

    return CHANGE_RULES


def load_queue_integration() -> QueueIntegration:
    """How Kueue sees Jobs."""
    from podplan.kinds.batch.job import queueing

    return queueing.INTEGRATION


# A Job may be anything: rules about training look at launchers in its commands, and at ranks and hosts there.
SPEC = KindSpec(
    plural="jobs",
    load_change_rules=load_change_rules,
    load_status_rules=load_status_rules,
    traits=frozenset(
        (
            "training",
            "pod-templates",
            "deadline",
            "ranks-by-user",
            "mpirun-by-user",
            "suspend",
            "kueue",
            "time-to-live",
            "host-by-index",
            "manager-unchecked",
        )
    ),
    run_policy_path=("spec",),
    managers=("kubernetes.io/job-controller", "kueue.x-k8s.io/multikueue"),
    option_prefix="job",
    profile_fields=frozenset(("launcher", "processes", "torchrun", "restart", "deadline", "retries")),
    # Several Pods under torchrun need a headless Service, which is not part of a Job.
    starter_fields={"replicas": "1", "cleanUp": ""},
    schedulers=("kueue",),
    validate_cr=validate_job,
    owner_label="batch.kubernetes.io/job-name",
    load_queue_integration=load_queue_integration,
)
