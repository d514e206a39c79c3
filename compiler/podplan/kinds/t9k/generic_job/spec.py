"""What the rest of podplan may ask about GenericJob."""

from podplan.kinds.spec import KindSpec

SPEC = KindSpec(plural="genericjobs", option_prefix="generic")
