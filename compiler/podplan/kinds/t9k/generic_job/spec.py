"""What the rest of podplan may ask about GenericJob."""

from podplan.kinds.spec import CleanUp, KindSpec
from podplan.kinds.t9k.traits import COMMON_TRAITS

SPEC = KindSpec(
    plural="genericjobs",
    option_prefix="generic",
    traits=COMMON_TRAITS
    | {
        "success-rules",
        "service-on-request",
        "env-expressions",
        "self-launched",
        "restarts-by-controller",
        "restart-limit",
    },
    clean_up=CleanUp(("cleanUpPolicy",), "None", "Unfinished"),
)
