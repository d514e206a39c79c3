"""The KindSpec of DeepSpeedJob."""

from __future__ import annotations

from podplan.kinds.spec import CleanUp, ProposedOptions, ReplicaTypesField, RequiredReplicaType
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.deepspeed_job import behaviors as kind_behaviors
from podplan.kinds.t9k.spec import build_spec
from podplan.kinds.t9k.traits import COMMON_TRAITS

SPEC = build_spec(
    __package__ or "",
    "deepspeedjobs",
    option_prefix="deepspeed",
    training_container=kind_behaviors.DEEPSPEED_TRAINING_CONTAINER,
    replica_types=(ReplicaTypesField(("spec", "worker"), "entry"),),
    elastic_path=("spec", "elastic"),
    profile_fields=frozenset(
        ("launcher", "processes", "elastic", "restart", "deadline", "retries", "cleanUp", "deepspeed")
    ),
    role_fields=frozenset(("restart",)),
    proposed_options=ProposedOptions(
        training_containers=("deepspeed.training-container",),
        hostfile_line="deepspeed.hostfile-line",
        shell_launcher="deepspeed",
    ),
    starter_fields={"launcher": "deepspeed", "cleanUp": "Unfinished"},
    traits=COMMON_TRAITS
    | {
        "deadline",
        "elastic",
        "deepspeed-by-controller",
        "command-by-controller",
        "training-container-by-name",
        "ssh",
        "launched-over-ssh",
        "restarts-by-controller",
        "shared-retries",
        "replica-restart-policy",
        "exit-code-restarts",
    },
    reserved_mounts=(
        behaviors.SSH_MOUNT_PATH,
        kind_behaviors.DEEPSPEED_HOSTFILE_PATH,
        kind_behaviors.DEEPSPEED_ENV_FILE_PATH,
    ),
    clean_up=CleanUp(("runPolicy", "cleanUpPolicy"), "None", "Unfinished"),
    required_replica_types={"worker": RequiredReplicaType("nothing runs deepspeed")},
)
