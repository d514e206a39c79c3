"""Names and defaults of TFJob in the operator."""

from podplan.kinds.kubeflow.training_kind import TrainingKind

KIND = TrainingKind(
    name="TFJob",
    specs_field="tfReplicaSpecs",
    types=("Chief", "Master", "Worker", "PS", "Evaluator"),
    main_types=("Chief", "Master"),
    container="tensorflow",
    port_name="tfjob-port",
    port=2222,
    has_open_types=True,
    exclusive_types=("Chief", "Master"),
    panics_below_zero=True,
    keeps_manager=True,
    traits=frozenset(
        (
            "exit-code-restarts",
            "exit-code-unlimited",
            "succeeds-without-main",
            "unchecked-replica-types",
            "undecided-without-worker",
        )
    ),
)
