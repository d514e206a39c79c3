"""What the rest of podplan may ask about PyTorchTrainingJob."""

from podplan.kinds.spec import KindSpec
from podplan.kinds.t9k import behaviors

SPEC = KindSpec(
    plural="pytorchtrainingjobs",
    option_prefix="pytorch",
    training_container=behaviors.PYTORCH_TRAINING_CONTAINER,
)
