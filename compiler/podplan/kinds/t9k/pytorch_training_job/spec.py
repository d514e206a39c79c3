"""What the rest of podplan may ask about PyTorchTrainingJob."""

from podplan.kinds.spec import CleanUp, KindSpec
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.traits import COMMON_TRAITS

SPEC = KindSpec(
    plural="pytorchtrainingjobs",
    option_prefix="pytorch",
    training_container=behaviors.PYTORCH_TRAINING_CONTAINER,
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
        "exit-code-restarts",
    },
    clean_up=CleanUp(("runPolicy", "cleanUpPolicy"), "None", "Unfinished"),
)
