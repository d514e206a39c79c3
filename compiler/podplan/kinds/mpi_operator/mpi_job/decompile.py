"""The spec of an MPIJob of kubeflow.org/v2beta1 as fields of a profile."""

from __future__ import annotations

from podplan.kinds.common.decompile import Fields
from podplan.kinds.kubeflow.decompile import decompile_mpi_job
from podplan.kinds.mpi_operator.mpi_job.constants import KIND


def decompile(spec: Fields) -> Fields:
    """The fields of the shortest profile that comes near to ``spec``."""
    return decompile_mpi_job(spec, KIND)
