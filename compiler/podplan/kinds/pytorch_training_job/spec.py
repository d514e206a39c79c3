"""What the rest of podplan may ask about PyTorchTrainingJob."""

from podplan import facts
from podplan.kinds.spec import KindSpec

SPEC = KindSpec(
    plural="pytorchtrainingjobs",
    option_prefix="pytorch",
    training_container=facts.PYTORCH_TRAINING_CONTAINER,
)
