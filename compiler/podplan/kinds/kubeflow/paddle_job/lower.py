"""Lowering of a PaddleJob to the objects that the operator creates."""

from __future__ import annotations

from podplan.core.provenance import Cursor, attribute_to
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.common.controller_variables import build_variable
from podplan.kinds.kubeflow import behaviors
from podplan.kinds.kubeflow.job import Job, JobReplicaType
from podplan.kinds.kubeflow.lower import lower_job
from podplan.kinds.kubeflow.paddle_job.constants import KIND
from podplan.kinds.kubeflow.pods import (
    PodParts,
    PodRange,
    find_leading_type,
    find_port_origin,
    resolve_port,
)
from podplan.kinds.spec import References

_OWN_ADDRESS = "POD_IP_DUMMY"


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """Build the objects of a PaddleJob (docs/evidence/training-operator.md): PodGroup, Services, Pods."""
    return lower_job(cr, KIND, options, _build_parts)


def _build_parts(job: Job, replica_type: JobReplicaType, pods: PodRange) -> PodParts:
    leader = find_leading_type(job) or replica_type
    port, why = resolve_port(job, leader).value, behaviors.ENVIRONMENT
    port_origin = find_port_origin(job, leader)
    env = [
        build_variable("PYTHONUNBUFFERED", "1", why, replica_type.entry),
        build_variable("PADDLE_JOB_ID", job.name, why, *job.name_origins),
        build_variable("PADDLE_NNODES", str(job.replica_count), why, *job.replica_origins),
    ]
    if pods.is_first:
        address = {"name": _OWN_ADDRESS, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
        env += [
            attribute_to((why, replica_type.entry), address),
            build_variable("PADDLE_MASTER", f"$({_OWN_ADDRESS}):{port}", why, port_origin),
        ]
    else:
        env.append(build_variable("PADDLE_MASTER", f"{job.name}-{leader.label}-0:{port}", why, port_origin))
    if job.find_type("Master") is not None:
        name = "PADDLE_SERVER_NUM" if replica_type.name == "Master" else "PADDLE_TRAINER_NUM"
        env.append(build_variable(name, "1", why, replica_type.entry))
    return PodParts(env)
