"""Compiles a profile to a JAXJob."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor
from podplan.core.typing import Any
from podplan.kinds.kubeflow.compile import compile_job, keep_workers
from podplan.kinds.kubeflow.jax_job.constants import KIND


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of a JAXJob as a traced tree, and the diagnostics of the profile."""
    return compile_job(profile, inventory, KIND, keep_workers)
