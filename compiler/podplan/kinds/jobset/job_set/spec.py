"""What the rest of podplan may ask about JobSets."""

from __future__ import annotations

from podplan.core.typing import TYPE_CHECKING
from podplan.kinds.jobset.validation import validate_job_set
from podplan.kinds.spec import KindSpec, QueueIntegration


def load_queue_integration() -> QueueIntegration:
    """How Kueue sees JobSets."""
    from podplan.kinds.jobset.queueing import list_pod_sets

    return QueueIntegration(list_pod_sets)


if TYPE_CHECKING:
    from podplan.kinds.change_effects import ChangeRules
    from podplan.kinds.status_rules import JobsRules


def load_status_rules() -> JobsRules:
    from podplan.kinds.jobset.status import STATUS_RULES

    return STATUS_RULES


def load_change_rules() -> ChangeRules:
    from podplan.kinds.jobset.change_effects import CHANGE_RULES

    return CHANGE_RULES


SPEC = KindSpec(
    plural="jobsets",
    load_change_rules=load_change_rules,
    load_status_rules=load_status_rules,
    traits=frozenset(
        (
            "training",
            "pod-templates",
            "unique-variables",
            "deadline",
            "deadline-by-job",
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
    managers=("jobset.sigs.k8s.io/jobset-controller", "kueue.x-k8s.io/multikueue"),
    option_prefix="jobset",
    profile_fields=frozenset(
        ("launcher", "processes", "torchrun", "restart", "deadline", "retries", "replicatedJob")
    ),
    role_fields=frozenset(("restart", "replicatedJob")),
    starter_fields={"cleanUp": ""},
    schedulers=("kueue",),
    validate_cr=validate_job_set,
    unknown_field_rule="SCHEMA012",
    owner_label="jobset.sigs.k8s.io/jobset-name",
    load_queue_integration=load_queue_integration,
)
