"""Lowering of a PyTorchJob to the objects that the operator creates."""

from __future__ import annotations

import re

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Cursor, Traced, attribute_to, present_causes
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup, build_group
from podplan.core.typing import Any
from podplan.kinds.common.controller_variables import build_variable
from podplan.kinds.common.go_serialization import write_quantity
from podplan.kinds.kubeflow import behaviors
from podplan.kinds.kubeflow.job import Job, JobReplicaType, build_metadata
from podplan.kinds.kubeflow.lower import lower_job
from podplan.kinds.kubeflow.pods import PodParts, PodRange, find_port_origin, resolve_port
from podplan.kinds.kubeflow.pytorch_job.constants import KIND
from podplan.kinds.kubeflow.pytorch_job.init_container import build_init_containers
from podplan.kinds.spec import References

_INTEGER = r"[+-]?[0-9]+"


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """Build the objects of a PyTorchJob (docs/evidence/training-operator.md): also the autoscaler."""
    return lower_job(cr, KIND, options, _build_parts, _build_autoscalers)


def _build_parts(job: Job, replica_type: JobReplicaType, _pods: PodRange) -> PodParts:
    master = job.find_type("Master")
    waits = master is not None and replica_type.name != "Master"
    return PodParts(
        _build_environment(job, replica_type, master),
        init_containers=tuple(build_init_containers(job, replica_type.entry)) if waits else (),
    )


def _build_environment(job: Job, replica_type: JobReplicaType, master: JobReplicaType | None) -> list[Traced]:
    env = [build_variable("PYTHONUNBUFFERED", "1", behaviors.ENVIRONMENT, replica_type.entry)]
    if master is not None:
        env += _build_master_variables(job, replica_type, master)
    processes = job.spec.get("nprocPerNode")
    elastic = job.spec.get("elasticPolicy")
    if processes.exists:
        env.append(build_variable("PET_NPROC_PER_NODE", processes.value, processes, behaviors.ENVIRONMENT))
    elif not elastic.get("nProcPerNode").exists:
        env.append(build_variable("PET_NPROC_PER_NODE", "auto", behaviors.ENVIRONMENT, job.spec))
    if elastic.exists:
        return [*env, *_build_elastic_variables(job, elastic)]
    nodes = build_variable("PET_NNODES", str(job.replica_count), behaviors.ENVIRONMENT, *job.replica_origins)
    return [*env, nodes]


def _build_master_variables(job: Job, replica_type: JobReplicaType, master: JobReplicaType) -> list[Traced]:
    port, host = resolve_port(job, master), f"{job.name}-master-0"
    first_rank = 0 if replica_type.name == "Master" else 1
    processes = job.spec.get("nprocPerNode")
    count = int(processes.value) if re.fullmatch(_INTEGER, str(processes.value)) else 1
    rank = Indexed((first_rank,))
    behavior = behaviors.ENVIRONMENT
    port_text = port._replace(value=str(port.value))
    return [
        build_variable("MASTER_PORT", port_text, behavior, master.entry),
        build_variable("PET_MASTER_PORT", port_text, behavior, master.entry),
        build_variable("MASTER_ADDR", host, behavior, *job.name_origins),
        build_variable("PET_MASTER_ADDR", host, behavior, *job.name_origins),
        build_variable(
            "WORLD_SIZE", str(job.replica_count * count), behavior, *job.replica_origins, processes
        ),
        build_variable("RANK", rank, behavior, replica_type.entry),
        build_variable("PET_NODE_RANK", rank, behavior, replica_type.entry),
    ]


def _build_elastic_variables(job: Job, elastic: Cursor) -> list[Traced]:
    worker = job.find_type("Worker")
    host, port = elastic.get("rdzvHost"), elastic.get("rdzvPort")
    default_port = str(resolve_port(job, worker).value) if worker else str(KIND.port)
    endpoint = f"{host.value_or(f'{job.name}-worker-0')}:{port.value_or(default_port)}"
    port_origin = port if port.exists or not worker else find_port_origin(job, worker)
    minimum, maximum = resolve_elastic_bounds(job)
    backend, behavior = elastic.get("rdzvBackend"), behaviors.ENVIRONMENT
    bounds = [one for name in ("minReplicas", "maxReplicas") if (one := elastic.get(name)).exists]
    variables = [
        build_variable(
            "PET_RDZV_ENDPOINT", endpoint, behavior, host if host.exists else elastic, port_origin
        ),
        build_variable(
            "PET_RDZV_BACKEND", backend.value_or("c10d"), behavior, backend if backend.exists else elastic
        ),
        build_variable(
            "PET_NNODES",
            f"{minimum}:{maximum}",
            behaviors.ELASTIC_BOUNDS,
            *(bounds or [elastic]),
            *job.replica_origins,
        ),
    ]
    for name, field in (
        ("PET_MAX_RESTARTS", "maxRestarts"),
        ("PET_NPROC_PER_NODE", "nProcPerNode"),
        ("PET_RDZV_ID", "rdzvId"),
    ):
        if elastic.get(field).exists:
            variables.append(
                build_variable(name, str(elastic.get(field).value), elastic.get(field), behavior)
            )
    settings = elastic.get("rdzvConf")
    if settings.exists:
        text = ",".join(
            f"{one.get('key').value_or('')}={one.get('value').value_or('')}" for one in settings.entries()
        )
        variables.append(build_variable("PET_RDZV_CONF", text, settings, behavior))
    if elastic.get("standalone").value is True:
        variables.append(build_variable("PET_STANDALONE", "", elastic.get("standalone"), behavior))
    return variables


def resolve_elastic_bounds(job: Job) -> tuple[int, int]:
    """Return the minimum and maximum number of workers of an elastic job."""
    elastic, worker = job.spec.get("elasticPolicy"), job.find_type("Worker")
    minimum, maximum = elastic.get("minReplicas").value, elastic.get("maxReplicas").value
    if minimum is None and maximum is None:
        workers = worker.replicas if worker else 0
        return workers, workers
    return (maximum if minimum is None else minimum), (minimum if maximum is None else maximum)


def _build_autoscalers(job: Job) -> list[ReplicaGroup]:
    """Build the HorizontalPodAutoscaler of an elastic job with metrics, as a list of one or none."""
    metrics = job.spec.get("elasticPolicy", "metrics")
    if not metrics.exists:
        return []
    minimum, maximum = resolve_elastic_bounds(job)
    elastic, why = job.spec.get("elasticPolicy"), behaviors.ELASTIC_BOUNDS
    spec: dict[str, Any] = {
        "scaleTargetRef": {"apiVersion": job.cr["apiVersion"], "kind": job.cr["kind"], "name": job.name},
        "minReplicas": attribute_to(present_causes(elastic.get("minReplicas"), elastic, why), minimum),
        "maxReplicas": attribute_to(present_causes(elastic.get("maxReplicas"), elastic, why), maximum),
    }
    if metrics.value:
        spec["metrics"] = [_write_metric(one) for one in metrics.entries()]
    tree = attribute_to(
        (metrics, behaviors.AUTOSCALER),
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": build_metadata(job, job.name),
            "spec": spec,
        },
    )
    return [build_group(tree)]


def _write_metric(cursor: Cursor) -> Any:
    """Return a metric with its quantities in the shortest notation."""
    if not isinstance(cursor.value, dict):
        return cursor
    return attribute_to(
        cursor,
        {
            key: write_quantity(one, behaviors.QUANTITY)
            if key in ("averageValue", "value")
            else _write_metric(one)
            for key, one in cursor.fields().items()
        },
    )
