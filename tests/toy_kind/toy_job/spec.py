"""The KindSpec of ToyJob."""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.core.typing import TYPE_CHECKING
from podplan.kinds.spec import KindSpec, ReplicaTypesField

if TYPE_CHECKING:
    from podplan.kinds.change_effects import ChangeRules

SUSPEND = Behavior(
    "toy.suspend", "suspend may be changed at any time", "documented", "https://example.com/toys#suspend"
)


def _load_change_rules() -> ChangeRules:
    from podplan.kinds.change_effects import ChangeRule, ChangeRules

    return ChangeRules((ChangeRule(("spec", "suspend"), "in-place", SUSPEND),))


SPEC = KindSpec(
    plural="toyjobs",
    option_prefix="toy",
    replica_types=(ReplicaTypesField(("spec", "toyReplicaSpecs"), "map"),),
    load_change_rules=_load_change_rules,
)
