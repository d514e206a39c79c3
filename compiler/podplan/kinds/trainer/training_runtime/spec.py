"""What the rest of podplan may ask about TrainingRuntimes and ClusterTrainingRuntimes."""

from __future__ import annotations

from podplan.kinds.spec import KindSpec
from podplan.kinds.trainer.validation import validate_runtime

SPEC = KindSpec(
    plural="trainingruntimes",
    option_prefix="trainer",
    version_schemas={"2.1": "TrainingRuntime.2.1", "2.2": "TrainingRuntime.2.2"},
    validate_cr=validate_runtime,
    unknown_field_rule="SCHEMA012",
    referring_kinds=("TrainJob",),
)
