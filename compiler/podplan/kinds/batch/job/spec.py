"""What the rest of podplan may ask about Jobs."""

from __future__ import annotations

from podplan.core.typing import TYPE_CHECKING
from podplan.kinds.batch.validation import validate_job
from podplan.kinds.spec import KindSpec

if TYPE_CHECKING:
    from podplan.kinds.change_effects import ChangeRules


# No trait: a Job may be anything, and only what holds for each Pod is checked of it.
def load_change_rules() -> ChangeRules:
    from podplan.kinds.batch.change_effects import CHANGE_RULES

    return CHANGE_RULES


SPEC = KindSpec(
    plural="jobs",
    load_change_rules=load_change_rules,
    traits=frozenset(("suspend",)),
    run_policy_path=("spec",),
    option_prefix="job",
    validate_cr=validate_job,
    owner_label="batch.kubernetes.io/job-name",
)
