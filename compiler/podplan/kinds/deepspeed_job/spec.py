"""What the rest of podplan may ask about DeepSpeedJob."""

from podplan import facts
from podplan.kinds.spec import KindSpec

SPEC = KindSpec(
    plural="deepspeedjobs",
    option_prefix="deepspeed",
    training_container=facts.DEEPSPEED_TRAINING_CONTAINER,
)
