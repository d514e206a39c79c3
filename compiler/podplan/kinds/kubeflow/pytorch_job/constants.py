"""Names and defaults of PyTorchJob in the operator."""

from podplan.kinds.kubeflow.training_kind import TrainingKind

KIND = TrainingKind(
    name="PyTorchJob",
    specs_field="pytorchReplicaSpecs",
    types=("Master", "Worker"),
    main_types=("Master",),
    container="pytorch",
    port_name="pytorchjob-port",
    port=23456,
    restart_policy="OnFailure",
    single_types=("Master",),
    written_single_types=("Master",),
    counted_types=("Worker",),
    has_elastic_policy=True,
    splits_replicas=True,
    traits=frozenset(
        (
            "torch-env",
            "address-of-main-replica",
            "autoscaler",
            "conditional-torch-env",
            "exit-code-restarts",
            "exit-code-unlimited",
        )
    ),
)
