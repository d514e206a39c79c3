"""Lowering of an XGBoostJob to the objects that the operator creates."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed, Listing, RepeatedLine
from podplan.core.provenance import Cursor
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.common.controller_variables import build_variable
from podplan.kinds.kubeflow import behaviors
from podplan.kinds.kubeflow.job import Job, JobReplicaType
from podplan.kinds.kubeflow.lower import lower_job
from podplan.kinds.kubeflow.pods import PodParts, PodRange, find_port_origin, resolve_port
from podplan.kinds.kubeflow.xgboost_job.constants import KIND
from podplan.kinds.spec import References


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """Build the objects of an XGBoostJob (docs/evidence/training-operator.md): PodGroup, Services, Pods."""
    return lower_job(cr, KIND, options, _build_parts)


def _build_parts(job: Job, replica_type: JobReplicaType, _pods: PodRange) -> PodParts:
    master, worker = job.find_type("Master") or replica_type, job.find_type("Worker")
    first_rank = 0 if replica_type.name == "Master" else master.replicas
    size, why = job.replica_count, behaviors.ENVIRONMENT
    env = [
        build_variable(
            "MASTER_PORT", str(resolve_port(job, master).value), why, find_port_origin(job, master)
        ),
        build_variable("MASTER_ADDR", f"{job.name}-master-0", why, *job.name_origins),
        build_variable("WORLD_SIZE", str(size), why, *job.replica_origins),
        build_variable("RANK", Indexed((first_rank,)), why, replica_type.entry),
        build_variable("PYTHONUNBUFFERED", "1", why, replica_type.entry),
    ]
    if size > 1:
        port, port_origin = resolve_port(job, worker or master), find_port_origin(job, worker or master)
        following = RepeatedLine(Indexed((f",{job.name}-worker-", 0)), 1, size - 2)
        env += [
            build_variable("WORKER_PORT", str(port.value), why, port_origin),
            build_variable(
                "WORKER_ADDRS", Listing((f"{job.name}-worker-0", following)), why, *job.replica_origins
            ),
        ]
    return PodParts(env)
