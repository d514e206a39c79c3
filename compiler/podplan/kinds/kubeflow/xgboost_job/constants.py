"""Names and defaults of XGBoostJob in the operator."""

from podplan.kinds.kubeflow.training_kind import TrainingKind

KIND = TrainingKind(
    name="XGBoostJob",
    specs_field="xgbReplicaSpecs",
    types=("Master", "Worker"),
    main_types=("Master",),
    container="xgboost",
    port_name="xgboostjob-port",
    port=9999,
    required_types=("Master",),
    single_types=("Master",),
    written_single_types=("Master",),
    splits_replicas=True,
    keeps_manager=True,
    traits=frozenset(
        (
            "exit-code-restarts",
            "exit-code-unlimited",
        )
    ),
)
