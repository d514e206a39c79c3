"""What the rest of podplan may ask about MPIJob of kubeflow.org/v2beta1."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Behavior
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.kinds.kubeflow.spec import STARTER_FIELDS
from podplan.kinds.spec import CleanUp, KindSpec, ProposedOptions, ReplicaTypesField

if TYPE_CHECKING:
    from podplan.kinds.change_effects import ChangeRules
    from podplan.kinds.spec import QueueIntegration
    from podplan.kinds.status_rules import LauncherRules


def _validate(dialect: str, cr: Mapping[str, Any]) -> list[Diagnostic]:
    from podplan.kinds.mpi_operator.validation import validate_job

    return validate_job(dialect, cr)


def _load_status_rules() -> LauncherRules:
    from podplan.kinds.mpi_operator.status import STATUS_RULES

    return STATUS_RULES


def _load_change_rules() -> ChangeRules:
    from podplan.kinds.mpi_operator.change_effects import CHANGE_RULES

    return CHANGE_RULES


def _load_queue_integration() -> QueueIntegration:
    from podplan.kinds.common.queueing import build_integration

    return build_integration(("spec", "mpiReplicaSpecs"), ("Launcher", "Worker"))


SPEC = KindSpec(
    plural="mpijobs",
    option_prefix="mpi-operator",
    schema="MPIJob-kubeflow-v2beta1",
    validate_cr=_validate,
    unknown_field_rule="SCHEMA012",  # the API server drops such fields
    replica_types=(ReplicaTypesField(("spec", "mpiReplicaSpecs"), "map"),),
    queue_path=("spec", "runPolicy", "schedulingPolicy", "queue"),
    priority_path=("spec", "runPolicy", "schedulingPolicy", "priorityClass"),
    run_policy_path=("spec", "runPolicy"),
    profile_fields=frozenset(("restart", "deadline", "retries", "cleanUp", "processes")),
    role_fields=frozenset(("restart",)),
    owner_label="training.kubeflow.org/job-name",
    load_change_rules=_load_change_rules,
    load_status_rules=_load_status_rules,
    load_queue_integration=_load_queue_integration,
    traits=frozenset(
        (
            "training",
            "pod-templates",
            "replica-types",
            "deadline",
            "scheduling-policy",
            "suspend",
            "manager-unchecked",
            "kueue",
            "template-restart-policy-ignored",
            "ssh",
            "mpirun-by-user",
            "hostfile",
            "unchecked-policies",
        )
    ),
    ssh_keys_volume="ssh-auth",
    ssh_path=("spec", "sshAuthMountPath"),
    reserved_mounts=(
        Behavior(
            "mpi-operator.ssh-mount-path",
            "the ssh keys are mounted in /root/.ssh unless sshAuthMountPath says otherwise",
            "verified",
            "docs/evidence/mpi-operator.md#ssh",
            "/root/.ssh",
        ),
        Behavior(
            "mpi-operator.config-path",
            "the hostfile is mounted in /etc/mpi",
            "verified",
            "docs/evidence/mpi-operator.md#hostfile",
            "/etc/mpi",
        ),
    ),
    main_replica_types=("Launcher",),
    schedulers=("volcano", "kueue"),
    managers=("kubeflow.org/mpi-operator", "kueue.x-k8s.io/multikueue"),
    clean_up=CleanUp(("runPolicy", "cleanPodPolicy"), "None", "Running"),
    starter_fields={
        **STARTER_FIELDS,
        "run": '{exec: [mpirun, --allow-run-as-root, python, train.py, --epochs, "${{ params.epochs }}"]}',
    },
    proposed_options=ProposedOptions(
        texts={
            "mpi-operator.scheduler-name": "^schedulerName=(.+)",
            "mpi-operator.cluster-domain": r"\.svc\.([a-z0-9.-]+)[ :]",
        }
    ),
)
