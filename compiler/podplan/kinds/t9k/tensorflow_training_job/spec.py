"""The KindSpec of TensorFlowTrainingJob."""

from __future__ import annotations

from podplan.kinds.spec import CleanUp, ProposedOptions, ReplicaTypesField
from podplan.kinds.t9k.spec import build_spec
from podplan.kinds.t9k.tensorflow_training_job import behaviors as kind_behaviors
from podplan.kinds.t9k.traits import COMMON_TRAITS, TYPED_TRAINING_TRAITS

SPEC = build_spec(
    __package__ or "",
    "tensorflowtrainingjobs",
    option_prefix="tensorflow",
    training_container=kind_behaviors.TENSORFLOW_TRAINING_CONTAINER,
    replica_types=(ReplicaTypesField(("spec", "replicaSpecs")),),
    profile_fields=frozenset(("launcher", "restart", "deadline", "retries", "cleanUp", "tensorboard")),
    role_fields=frozenset(("restart",)),
    proposed_options=ProposedOptions(training_containers=("tensorflow.training-container",)),
    starter_fields={"launcher": "python", "cleanUp": "Unfinished"},
    traits=COMMON_TRAITS
    | TYPED_TRAINING_TRAITS
    | {"training-container-required", "first-worker-decides", "undecided-without-worker"},
    main_replica_types=("chief", "worker"),
    single_replica_types=("chief", "evaluator"),
    clean_up=CleanUp(("runPolicy", "cleanUpPolicy"), "None", "Unfinished"),
)
