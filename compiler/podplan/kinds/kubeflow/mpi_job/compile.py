"""Compiles a profile to an MPIJob of kubeflow.org/v1."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor
from podplan.core.typing import Any
from podplan.kinds.kubeflow.compile import compile_mpi_job
from podplan.kinds.kubeflow.mpi_job.constants import KIND


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of an MPIJob as a traced tree, and the diagnostics of the profile."""
    return compile_mpi_job(profile, inventory, KIND)
