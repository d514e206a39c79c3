"""Compiles a profile to a PyTorchJob."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor
from podplan.core.typing import Any
from podplan.kinds.kubeflow.compile import RoleReplicas, compile_job, keep_workers, split_main_and_workers
from podplan.kinds.kubeflow.pytorch_job.constants import KIND
from podplan.kinds.kubeflow.training_kind import TrainingKind


def compile(profile: Cursor, inventory: Cursor) -> tuple[Any, list[Diagnostic]]:
    """Return the spec of a PyTorchJob as a traced tree, and the diagnostics of the profile."""
    return compile_job(profile, inventory, KIND, _split, processes_field="nprocPerNode", takes_torchrun=True)


def _split(spec: Cursor, kind: TrainingKind) -> list[RoleReplicas]:
    """Return a master and workers, or only workers for an elastic job."""
    return keep_workers(spec, kind) if spec.get("elastic").exists else split_main_and_workers(spec, kind)
