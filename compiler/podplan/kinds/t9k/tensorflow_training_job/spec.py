"""The KindSpec of TensorFlowTrainingJob."""

from __future__ import annotations

from podplan.core.typing import TYPE_CHECKING
from podplan.kinds.spec import CleanUp, KindSpec, ProposedOptions, ReplicaTypesField
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k import spec as family
from podplan.kinds.t9k.tensorflow_training_job import behaviors as kind_behaviors
from podplan.kinds.t9k.traits import COMMON_TRAITS, TYPED_TRAINING_TRAITS

if TYPE_CHECKING:
    from podplan.kinds.status_rules import StatusRules


def _load_status_rules() -> StatusRules:
    from podplan.kinds.t9k.tensorflow_training_job.status import STATUS_RULES

    return STATUS_RULES


SPEC = KindSpec(
    plural="tensorflowtrainingjobs",
    option_prefix="tensorflow",
    training_container=kind_behaviors.TENSORFLOW_TRAINING_CONTAINER,
    replica_types=(ReplicaTypesField(("spec", "replicaSpecs")),),
    queue_path=family.QUEUE_PATH,
    priority_path=family.PRIORITY_PATH,
    run_policy_path=family.RUN_POLICY_PATH,
    run_mode_path=family.RUN_MODE_PATH,
    profile_fields=frozenset(("launcher", "restart", "deadline", "retries", "cleanUp", "tensorboard")),
    role_fields=frozenset(("restart",)),
    owner_label=family.OWNER_LABEL,
    pod_group_label=family.POD_GROUP_LABEL,
    pod_group_api_version=str(behaviors.POD_GROUP_API.value),
    load_job_names=family.load_job_names,
    proposed_options=ProposedOptions(training_containers=("tensorflow.training-container",)),
    starter_fields={"launcher": "python", "cleanUp": "Unfinished"},
    load_status_rules=_load_status_rules,
    load_change_rules=family.load_change_rules,
    traits=COMMON_TRAITS | TYPED_TRAINING_TRAITS,
    main_replica_types=("chief", "worker"),
    clean_up=CleanUp(("runPolicy", "cleanUpPolicy"), "None", "Unfinished"),
)
