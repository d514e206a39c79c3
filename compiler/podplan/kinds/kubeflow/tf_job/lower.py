"""Lowering of a TFJob to the objects that the operator creates."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed, Listing, RepeatedLine
from podplan.core.provenance import Cause, Cursor, Traced
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.common.controller_variables import build_variable
from podplan.kinds.kubeflow import behaviors
from podplan.kinds.kubeflow.job import Job, JobReplicaType
from podplan.kinds.kubeflow.lower import lower_job
from podplan.kinds.kubeflow.pods import PodParts, PodRange, find_port_origin, resolve_port
from podplan.kinds.kubeflow.tf_job.constants import KIND
from podplan.kinds.spec import References

_Pieces = list[str | RepeatedLine | Indexed]


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """Build the objects of a TFJob (docs/evidence/training-operator.md): PodGroup, Services, Pods."""
    return lower_job(cr, KIND, options, _build_parts)


def _build_parts(job: Job, replica_type: JobReplicaType, _pods: PodRange) -> PodParts:
    # This count excludes unknown types, which TF_CONFIG contains.
    if sum(one.replicas for one in job.types if one.name in KIND.types) == 1:
        return PodParts([])
    is_dynamic = job.spec.get("enableDynamicWorker").value is True
    pieces = _build_sparse_config(job, replica_type) if is_dynamic else _build_config(job, replica_type)
    listed_types = _find_servers(job, replica_type) if is_dynamic else job.types
    ports = {one.name: find_port_origin(job, one) for one in (*listed_types, replica_type)}
    causes: tuple[Cause, ...] = (
        job.options.first_configured(behaviors.TF_CONFIG, behaviors.CLUSTER_DOMAIN),
        *(origin for one in listed_types for origin in one.replica_origins),
        *ports.values(),
        *job.name_origins,
    )
    config: Traced = build_variable("TF_CONFIG", Listing(tuple(pieces)), *causes)
    return PodParts([config], only_training=True)


def _build_config(job: Job, replica_type: JobReplicaType) -> _Pieces:
    """Build TF_CONFIG with all replicas, the types in alphabetic order as Go writes a map."""
    pieces: _Pieces = ['{"cluster":{']
    for number, one in enumerate(sorted(job.types, key=lambda one: one.label)):
        pieces += [f'{"," if number else ""}"{one.label}":[', *_list_addresses(job, one), "]"]
    return [*pieces, "}", *_build_task(replica_type), ',"environment":"cloud"}']


def _build_sparse_config(job: Job, replica_type: JobReplicaType) -> _Pieces:
    """Build TF_CONFIG of a dynamic job: each replica lists itself, a worker also all servers."""
    own: _Pieces = ['"', _find_address(job, replica_type), '"']
    if replica_type.name == "PS":
        cluster: _Pieces = ['"worker":{},"ps":[', *own, "]"]
    elif replica_type.name == "Worker":
        servers = _find_servers(job, replica_type)
        # Without the type PS the operator has no list, which Go writes as null.
        addresses = ["[", *_list_addresses(job, servers[0]), "]"] if servers else ["null"]
        cluster = ['"worker":{"', Indexed((0,)), '":', *own, '},"ps":', *addresses]
    else:
        cluster = ['"worker":{},"ps":[]']
    return ['{"cluster":{', *cluster, "}", *_build_task(replica_type), "}"]


def _find_servers(job: Job, replica_type: JobReplicaType) -> tuple[JobReplicaType, ...]:
    """The type of the servers that a replica knows if the number of workers may change, if there is one."""
    servers = job.find_type("PS")
    return (servers,) if servers and replica_type.name == "Worker" else ()


def _build_task(replica_type: JobReplicaType) -> _Pieces:
    return [f',"task":{{"type":"{replica_type.label}","index":', Indexed((0,)), "}"]


def _list_addresses(job: Job, replica_type: JobReplicaType) -> _Pieces:
    """Format the addresses of all replicas of a type, quoted and separated by commas."""
    if replica_type.replicas <= 0:
        return []
    address = _find_address(job, replica_type)
    following = RepeatedLine(Indexed((',"', *address.parts, '"')), 1, replica_type.replicas - 1)
    return [f'"{address.text_at(0)}"', following]


def _find_address(job: Job, replica_type: JobReplicaType) -> Indexed:
    domain = job.options.resolve_behavior(behaviors.CLUSTER_DOMAIN).value
    suffix = f".{domain}" if domain else ""
    port = resolve_port(job, replica_type).value
    return Indexed((f"{job.name}-{replica_type.label}-", 0, f".{job.namespace}.svc{suffix}:{port}"))
