"""The workers of an MPIJob: Pods that run sshd, by which mpirun starts processes in them."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import attribute_to
from podplan.core.replica_groups import ReplicaGroup, build_group
from podplan.core.typing import Any
from podplan.kinds.common.controller_variables import build_variable
from podplan.kinds.kubeflow.job import Job, JobReplicaType, build_metadata
from podplan.kinds.mpi_operator import behaviors
from podplan.kinds.mpi_operator.names import build_worker_name, count_workers, is_launcher_a_worker
from podplan.kinds.mpi_operator.pods import (
    TracedMap,
    build_first_container,
    build_pod_metadata,
    build_pod_spec,
)

_SSHD = ["/usr/sbin/sshd", "-De"]


def build_workers(job: Job) -> list[ReplicaGroup]:
    """The workers of a job as one group; none for no workers."""
    workers = job.find_type("Worker")
    if workers is None or not count_workers(job):
        return []
    name = build_worker_name(job)
    fields = build_pod_metadata(job, workers, "worker", Indexed((1 if is_launcher_a_worker(job) else 0,)))
    tree = attribute_to(
        (workers.entry, behaviors.WORKER),
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": build_metadata(
                job, name, **fields, name_behavior=behaviors.NAMES, owner_behavior=behaviors.OWNER
            ),
            "spec": build_pod_spec(
                job,
                workers,
                name,
                "Never",
                _build_container(job, workers),
                dnsConfig=_build_dns(job, workers),
            ),
        },
    )
    return [build_group(tree, workers.key, 0, count_workers(job))._replace(training_container_index=0)]


def _build_container(job: Job, workers: JobReplicaType) -> TracedMap:
    why = (behaviors.SSHD, workers.entry)
    tree = build_first_container(job, workers, [build_variable("K_MPI_JOB_ROLE", "worker", *why)])
    container = workers.template.get("spec", "containers", 0)
    if not container.get("command").value and not container.get("args").value:
        tree["command"] = attribute_to(why, _SSHD)
    return tree


def _build_dns(job: Job, workers: JobReplicaType) -> Any:
    written = workers.template.get("spec", "dnsConfig")
    domain = attribute_to((*job.name_origins, behaviors.DNS), f"{job.name}.{job.namespace}.svc.cluster.local")
    return attribute_to(
        (behaviors.DNS, workers.entry),
        {**written.fields(), "searches": [*written.get("searches").entries(), domain]},
    )
