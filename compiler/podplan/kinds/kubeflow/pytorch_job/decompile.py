"""Decompiles the spec of a PyTorchJob to fields of a profile."""

from __future__ import annotations

from podplan.kinds.common.decompile import Fields
from podplan.kinds.kubeflow.decompile import decompile_job
from podplan.kinds.kubeflow.pytorch_job.constants import KIND


def decompile(spec: Fields) -> Fields:
    """Return the fields of the shortest profile that compiles approximately to ``spec``."""
    return decompile_job(spec, KIND, processes_field="nprocPerNode", takes_torchrun=True)
