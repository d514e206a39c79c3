"""What the rest of podplan may ask about DeepSpeedJob."""

from podplan.kinds.spec import CleanUp, KindSpec, RequiredReplicaType
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.traits import COMMON_TRAITS

SPEC = KindSpec(
    plural="deepspeedjobs",
    option_prefix="deepspeed",
    training_container=behaviors.DEEPSPEED_TRAINING_CONTAINER,
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
        "exit-code-restarts",
    },
    reserved_mounts=(
        behaviors.SSH_MOUNT_PATH,
        behaviors.DEEPSPEED_HOSTFILE_PATH,
        behaviors.DEEPSPEED_ENV_FILE_PATH,
    ),
    clean_up=CleanUp(("runPolicy", "cleanUpPolicy"), "None", "Unfinished"),
    required_replica_types={"worker": RequiredReplicaType("nothing runs deepspeed")},
)
