"""The KindSpec of XGBoostTrainingJob."""

from __future__ import annotations

from podplan.kinds.spec import CleanUp, ProposedOptions, ReplicaTypesField, RequiredReplicaType
from podplan.kinds.t9k.spec import build_spec
from podplan.kinds.t9k.traits import COMMON_TRAITS, TYPED_TRAINING_TRAITS
from podplan.kinds.t9k.xgboost_training_job import behaviors as kind_behaviors

SPEC = build_spec(
    __package__ or "",
    "xgboosttrainingjobs",
    option_prefix="xgboost",
    training_container=kind_behaviors.XGBOOST_TRAINING_CONTAINER,
    replica_types=(ReplicaTypesField(("spec", "replicaSpecs")),),
    profile_fields=frozenset(("launcher", "restart", "deadline", "retries", "cleanUp")),
    role_fields=frozenset(("restart",)),
    proposed_options=ProposedOptions(
        training_containers=("xgboost.training-container",), env=(((), "xgboost.env"),)
    ),
    starter_fields={"launcher": "python", "cleanUp": "Unfinished"},
    traits=COMMON_TRAITS | TYPED_TRAINING_TRAITS | {"training-container-required", "master-has-rank-zero"},
    main_replica_types=("master",),
    clean_up=CleanUp(("runPolicy", "cleanUpPolicy"), "None", "Unfinished"),
    required_replica_types={
        "master": RequiredReplicaType("nothing has rank 0, and training is impossible without it")
    },
)
