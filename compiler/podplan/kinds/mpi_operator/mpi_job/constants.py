"""MPIJob of kubeflow.org/v2beta1 as plain values, so far as it is like the kinds of the training operator."""

from podplan.kinds.kubeflow.training_kind import TrainingKind

KIND = TrainingKind(
    name="MPIJob",
    specs_field="mpiReplicaSpecs",
    types=("Launcher", "Worker"),
    main_types=("Launcher",),
    container="",
    restart_policies=("OnFailure", "Never"),
    default_replicas={"Worker": 0},
    has_webhook=False,
    required_types=("Launcher",),
    single_types=("Launcher",),
)
