"""What the rest of podplan may ask about ClusterTrainingRuntimes."""

from __future__ import annotations

from podplan.kinds.trainer.training_runtime.spec import SPEC as RUNTIME_SPEC

SPEC = RUNTIME_SPEC._replace(plural="clustertrainingruntimes")
