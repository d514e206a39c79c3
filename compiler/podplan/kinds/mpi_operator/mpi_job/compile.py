"""A profile as an MPIJob of kubeflow.org/v2beta1."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor
from podplan.core.typing import Any
from podplan.kinds.kubeflow.compile import compile_job, split_launcher_and_workers
from podplan.kinds.mpi_operator.mpi_job.kind import KIND

_RUN_FORMS = ("exec", "command")  # the launcher runs mpirun, not the script


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """The spec of an MPIJob as a marked tree, and what is wrong with the profile."""
    return compile_job(
        profile,
        inventory,
        KIND,
        split_launcher_and_workers,
        processes_field="slotsPerWorker",
        run_forms=_RUN_FORMS,
    )
