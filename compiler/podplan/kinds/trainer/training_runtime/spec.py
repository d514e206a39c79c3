"""What the rest of podplan may ask about TrainingRuntimes and ClusterTrainingRuntimes."""

from __future__ import annotations

from podplan.core.typing import TYPE_CHECKING
from podplan.kinds.spec import KindSpec
from podplan.kinds.trainer.validation import validate_runtime

if TYPE_CHECKING:
    from podplan.kinds.change_effects import ChangeRules


def load_change_rules() -> ChangeRules:
    from podplan.kinds.trainer.change_effects import RUNTIME_CHANGE_RULES

    return RUNTIME_CHANGE_RULES


SPEC = KindSpec(
    plural="trainingruntimes",
    load_change_rules=load_change_rules,
    option_prefix="trainer",
    version_schemas={"2.1": "TrainingRuntime.2.1", "2.2": "TrainingRuntime.2.2"},
    validate_cr=validate_runtime,
    unknown_field_rule="SCHEMA012",
    referring_kinds=("TrainJob",),
)
