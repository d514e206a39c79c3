"""Names and defaults of MPIJob of kubeflow.org/v1 in the operator."""

from podplan.kinds.kubeflow.training_kind import TrainingKind

KIND = TrainingKind(
    name="MPIJob",
    specs_field="mpiReplicaSpecs",
    types=("Launcher", "Worker"),
    main_types=("Launcher",),
    container="",
    default_replicas={"Worker": 0},
    has_webhook=False,
    required_types=("Launcher",),
    single_types=("Launcher",),
    has_queue_integration=False,  # Kueue supports the kind of the MPI operator only
    traits=frozenset(
        (
            "exit-code-waits",
            "manager-unchecked",
            "mpirun-by-user",
            "hostfile",
            "no-workers-by-default",
        )
    ),
)
