"""The KindSpec of MPIJob."""

from __future__ import annotations

from podplan.kinds.spec import CleanUp, ProposedOptions, ReplicaTypesField, RequiredReplicaType
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.mpi_job import behaviors as kind_behaviors
from podplan.kinds.t9k.spec import build_spec
from podplan.kinds.t9k.traits import COMMON_TRAITS

_WORKER_FIELDS = ("worker", "mca", "mpiHome")


# Source of the dialects: docs/evidence/t9k-mpijob.md#dialects
SPEC = build_spec(
    __package__ or "",
    "mpijobs",
    option_prefix="mpi",
    dialects={
        "replicaSpecs": ("mpiConfig", "replicaSpecs"),
        "worker": (*_WORKER_FIELDS, "worker.extraMPIArgs"),
        "processes": (*_WORKER_FIELDS, "worker.processesPerWorker", "worker.processRecovery"),
    },
    superseded_dialects=("worker", "processes"),
    training_container=kind_behaviors.MPI_TRAINING_CONTAINER,
    training_container_by_field={"worker": kind_behaviors.MPI_OLDER_TRAINING_CONTAINER},
    replica_types=(
        ReplicaTypesField(("spec", "replicaSpecs")),
        ReplicaTypesField(("spec", "worker"), "entry"),
    ),
    profile_fields=frozenset(("launcher", "processes", "restart", "retries", "cleanUp", "mpi")),
    role_fields=frozenset(("restart", "retries")),
    proposed_options=ProposedOptions(
        training_containers=(
            "mpi.training-container",
            "mpi.training-container-of-older-dialects",
            "mpi.launcher-container",
        ),
        hostfile_line="mpi.hostfile-line",
    ),
    starter_fields={
        "launcher": "mpirun",
        "mpi": "{extraArgs: [--allow-run-as-root]}  # unless the image has another user",
        "cleanUp": "Workers",
    },
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
