"""The spec of a TensorFlowTrainingJob as fields of a profile."""

from __future__ import annotations

from podplan.kinds.common.decompile import Fields
from podplan.kinds.t9k.tensorflow_training_job.compile import CONTAINER
from podplan.kinds.t9k.training_profile import decompile_training_job


def decompile(spec: Fields) -> Fields:
    """Return the fields of the shortest profile that compiles to about ``spec``."""
    return decompile_training_job(spec, CONTAINER)
