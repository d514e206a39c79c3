"""The KindSpec of PyTorchTrainingJob."""

from __future__ import annotations

from podplan.kinds.spec import CleanUp, ProposedOptions, ReplicaTypesField
from podplan.kinds.t9k.pytorch_training_job import behaviors as kind_behaviors
from podplan.kinds.t9k.spec import build_spec
from podplan.kinds.t9k.traits import COMMON_TRAITS

SPEC = build_spec(
    __package__ or "",
    "pytorchtrainingjobs",
    option_prefix="pytorch",
    training_container=kind_behaviors.PYTORCH_TRAINING_CONTAINER,
    replica_types=(ReplicaTypesField(("spec", "replicaSpecs")),),
    elastic_path=("spec", "elastic"),
    profile_fields=frozenset(
        (
            "launcher",
            "processes",
            "elastic",
            "restart",
            "deadline",
            "retries",
            "cleanUp",
            "torchrun",
            "tensorboard",
        )
    ),
    role_fields=frozenset(("restart", "scalingWeight")),
    proposed_options=ProposedOptions(
        training_containers=("pytorch.training-container",),
        launch_arguments="pytorch.torchrun-arguments",
        env=((("spec", "torchrunConfig", "enabled"), "pytorch.torchrun-env"), ((), "pytorch.env")),
    ),
    traits=COMMON_TRAITS
    | {
        "deadline",
        "elastic",
        "scaling-weights",
        "torch-env",
        "torchrun-by-controller",
        "command-by-controller",
        "training-container-by-name",
        "restarts-by-controller",
        "shared-retries",
        "replica-restart-policy",
        "exit-code-restarts",
    },
    clean_up=CleanUp(("runPolicy", "cleanUpPolicy"), "None", "Unfinished"),
)
