"""The spec of an XGBoostTrainingJob as fields of a profile."""

from __future__ import annotations

from podplan.kinds.common.decompile import Fields
from podplan.kinds.t9k.training_profile import decompile_training_job
from podplan.kinds.t9k.xgboost_training_job.compile import CONTAINER


def decompile(spec: Fields) -> Fields:
    """Return the fields of the shortest profile that compiles to about ``spec``."""
    return decompile_training_job(spec, CONTAINER, "master")
