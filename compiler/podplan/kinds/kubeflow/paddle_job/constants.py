"""Names and defaults of PaddleJob in the operator."""

from podplan.kinds.kubeflow.training_kind import TrainingKind

KIND = TrainingKind(
    name="PaddleJob",
    specs_field="paddleReplicaSpecs",
    types=("Master", "Worker"),
    main_types=("Master",),
    container="paddle",
    port_name="master",
    port=36543,
    restart_policy="OnFailure",
    has_main_worker=False,
    has_elastic_policy=True,
    panics_without_worker=True,
    keeps_manager=True,
    traits=frozenset(
        (
            "exit-code-restarts",
            "exit-code-unlimited",
            "elastic-policy-ignored",
            "succeeds-without-main",
        )
    ),
)
