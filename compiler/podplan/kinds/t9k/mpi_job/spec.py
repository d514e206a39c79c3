"""The KindSpec of MPIJob."""

from __future__ import annotations

from podplan.core.typing import TYPE_CHECKING
from podplan.kinds.spec import CleanUp, KindSpec, ProposedOptions, ReplicaTypesField, RequiredReplicaType
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k import spec as family
from podplan.kinds.t9k.mpi_job import behaviors as kind_behaviors
from podplan.kinds.t9k.traits import COMMON_TRAITS

if TYPE_CHECKING:
    from podplan.kinds.status_rules import StatusRules

_WORKER_FIELDS = ("worker", "mca", "mpiHome")


def _load_status_rules() -> StatusRules:
    from podplan.kinds.t9k.mpi_job.status import STATUS_RULES

    return STATUS_RULES


# Source of the dialects: docs/evidence/t9k-mpijob.md#dialects
SPEC = KindSpec(
    plural="mpijobs",
    option_prefix="mpi",
    dialects={
        "replicaSpecs": ("mpiConfig", "replicaSpecs"),
        "worker": (*_WORKER_FIELDS, "worker.extraMPIArgs"),
        "processes": (*_WORKER_FIELDS, "worker.processesPerWorker", "worker.processRecovery"),
    },
    training_container=kind_behaviors.MPI_TRAINING_CONTAINER,
    training_container_by_field={"worker": kind_behaviors.MPI_OLDER_TRAINING_CONTAINER},
    replica_types=(
        ReplicaTypesField(("spec", "replicaSpecs")),
        ReplicaTypesField(("spec", "worker"), "entry"),
    ),
    queue_path=family.QUEUE_PATH,
    priority_path=family.PRIORITY_PATH,
    run_policy_path=family.RUN_POLICY_PATH,
    run_mode_path=family.RUN_MODE_PATH,
    profile_fields=frozenset(("launcher", "processes", "restart", "retries", "cleanUp", "mpi")),
    role_fields=frozenset(("restart", "retries")),
    owner_label=family.OWNER_LABEL,
    pod_group_label=family.POD_GROUP_LABEL,
    pod_group_api_version=str(behaviors.POD_GROUP_API.value),
    load_job_names=family.load_job_names,
    proposed_options=ProposedOptions(
        training_containers=(
            "mpi.training-container",
            "mpi.training-container-of-older-dialects",
            "mpi.launcher-container",
        ),
        hostfile_line="mpi.hostfile-line",
    ),
    starter_fields={"launcher": "mpirun", "cleanUp": "Workers"},
    load_status_rules=_load_status_rules,
    load_change_rules=family.load_change_rules,
    traits=COMMON_TRAITS
    | {
        "command-by-controller",
        "container-contract",
        "launcher-replica",
        "mpirun-by-controller",
        "ssh",
    },
    launcher_container=kind_behaviors.MPI_LAUNCHER_CONTAINER,
    reserved_mounts=(behaviors.SSH_MOUNT_PATH, kind_behaviors.MPI_HOSTFILE_PATH),
    clean_up=CleanUp(("runPolicy", "cleanUpWorkers"), False, "true"),
    required_replica_types={
        "worker": RequiredReplicaType("mpirun has no host to start processes on"),
        "launcher": RequiredReplicaType("nothing runs mpirun", is_defaulted=True),
    },
)
