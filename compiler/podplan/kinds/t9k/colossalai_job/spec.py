"""What the rest of podplan may ask about ColossalAIJob."""

from podplan.kinds.spec import CleanUp, KindSpec, RequiredReplicaType
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.traits import COMMON_TRAITS

# Source of the dialects: docs/evidence/t9k-colossalaijob.md
SPEC = KindSpec(
    plural="colossalaijobs",
    option_prefix="colossalai",
    dialects={"replicaSpecs": ("torchConfig", "replicaSpecs"), "launcher": ("launcher", "worker")},
    training_container=behaviors.COLOSSALAI_TRAINING_CONTAINER,
    traits=COMMON_TRAITS
    | {
        "colossalai-by-controller",
        "command-by-controller",
        "container-contract",
        "launcher-replica",
        "ssh",
        "ssh-mount-path",
        "launched-over-ssh",
    },
    launcher_container=behaviors.COLOSSALAI_LAUNCHER_CONTAINER,
    reserved_mounts=(behaviors.SSH_MOUNT_PATH,),
    clean_up=CleanUp(("runPolicy", "cleanUpWorkers"), False, "true"),
    required_replica_types={
        "worker": RequiredReplicaType("the launcher has no host to start the training on"),
        "launcher": RequiredReplicaType("nothing starts the training on the workers", is_defaulted=True),
    },
)
