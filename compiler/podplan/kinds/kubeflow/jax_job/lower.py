"""Lowering of a JAXJob to the objects that the operator creates."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Cursor
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.common.controller_variables import build_variable
from podplan.kinds.kubeflow import behaviors
from podplan.kinds.kubeflow.jax_job.constants import KIND
from podplan.kinds.kubeflow.job import Job, JobReplicaType
from podplan.kinds.kubeflow.lower import lower_job
from podplan.kinds.kubeflow.pods import PodParts, PodRange, find_port_origin, resolve_port
from podplan.kinds.spec import References


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """Build the objects of a JAXJob (docs/evidence/training-operator.md): PodGroup, Services, Pods."""
    return lower_job(cr, KIND, options, _build_parts)


def _build_parts(job: Job, replica_type: JobReplicaType, _pods: PodRange) -> PodParts:
    port, port_origin = resolve_port(job, replica_type), find_port_origin(job, replica_type)
    why = behaviors.ENVIRONMENT
    return PodParts([
        build_variable("PYTHONUNBUFFERED", "1", why, replica_type.entry),
        build_variable("COORDINATOR_PORT", str(port.value), why, port_origin),
        build_variable("COORDINATOR_ADDRESS", f"{job.name}-worker-0", why, *job.name_origins),
        build_variable("NUM_PROCESSES", str(job.replica_count), why, *job.replica_origins),
        build_variable("PROCESS_ID", Indexed((0,)), why, replica_type.entry),
    ])  # fmt: skip
