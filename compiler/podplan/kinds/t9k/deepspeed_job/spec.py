"""What the rest of podplan may ask about DeepSpeedJob."""

from podplan.kinds.spec import KindSpec
from podplan.kinds.t9k import behaviors

SPEC = KindSpec(
    plural="deepspeedjobs",
    option_prefix="deepspeed",
    training_container=behaviors.DEEPSPEED_TRAINING_CONTAINER,
)
