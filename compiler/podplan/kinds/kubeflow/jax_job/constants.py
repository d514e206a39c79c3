"""Names and defaults of JAXJob in the operator."""

from podplan.kinds.kubeflow.training_kind import TrainingKind

KIND = TrainingKind(
    name="JAXJob",
    specs_field="jaxReplicaSpecs",
    types=("Worker",),
    main_types=(),
    container="jax",
    port_name="jaxjob-port",
    port=6666,
    has_manager=False,
    traits=frozenset(
        (
            "exit-code-restarts",
            "exit-code-unlimited",
            "manager-ignored",
            "manager-unchecked",
            "succeeds-without-main",
        )
    ),
)
