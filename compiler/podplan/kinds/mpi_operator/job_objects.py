"""What a job has once: its Service, the ConfigMap with the hostfile, and the Secret with the ssh keys."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed, Listing, RepeatedLine
from podplan.core.provenance import Cause, attribute_to, present_causes
from podplan.core.replica_groups import ReplicaGroup, build_group
from podplan.core.typing import Any
from podplan.kinds.kubeflow.job import Job, build_metadata
from podplan.kinds.mpi_operator import behaviors
from podplan.kinds.mpi_operator.names import (
    OPEN_MPI,
    build_host_suffix,
    build_launcher_name,
    build_worker_name,
    count_workers,
    find_mpi_implementation,
    is_launcher_a_worker,
)
from podplan.kinds.mpi_operator.pods import SELECTOR_LABELS, build_label

_KEY_PLACEHOLDER = "a2V5"  # "key" in base64


def build_child(
    job: Job, api_version: str, kind: str, name: str, cause: Cause, fields: dict[str, Any]
) -> ReplicaGroup:
    """An object that a job has once, with the label by which the operator's list shows it."""
    labels = {"app": attribute_to((behaviors.OBJECTS, *job.name_origins), job.name)}
    metadata = build_metadata(
        job, name, labels, name_behavior=behaviors.NAMES, owner_behavior=behaviors.OWNER
    )
    tree = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
    return build_group(attribute_to((cause, job.spec), tree))


def build_service(job: Job) -> ReplicaGroup:
    """The headless Service by which all Pods of a job have host names."""
    spec: dict[str, Any] = {
        "clusterIP": "None",
        "selector": {name: build_label(job, name) for name in SELECTOR_LABELS},
    }
    if is_launcher_a_worker(job):
        spec["publishNotReadyAddresses"] = attribute_to(
            (job.spec.get("runLauncherAsWorker"), behaviors.SERVICE), True
        )
    return build_child(job, "v1", "Service", job.name, behaviors.SERVICE, {"spec": spec})


def build_config_map(job: Job) -> ReplicaGroup:
    """The hostfile of mpirun, and the script that lists the hosts that run."""
    slots, suffix = job.spec.get("slotsPerWorker"), build_host_suffix(job)
    is_open_mpi = find_mpi_implementation(job.spec.value) == OPEN_MPI
    ending = f"{suffix}{' slots=' if is_open_mpi else ':'}{slots.value_or(1)}\n"
    launcher_host, has_launcher = f"{build_launcher_name(job)}{suffix}", is_launcher_a_worker(job)
    pieces: list[str | RepeatedLine | Indexed] = (
        [f"{build_launcher_name(job)}{ending}"] if has_launcher else []
    )
    if count_workers(job):
        line = Indexed((*build_worker_name(job).parts, ending))
        pieces.append(RepeatedLine(line, 0, count_workers(job)))
    workers = job.find_type("Worker")
    domain = job.options.resolve_behavior(behaviors.CLUSTER_DOMAIN)
    as_worker = job.spec.get("runLauncherAsWorker")
    causes = (
        *(workers.replica_origins if workers else ()),
        slots,
        job.spec.get("mpiImplementation"),
        as_worker,
        *((domain,) if domain.value else ()),
        behaviors.HOSTFILE,
    )
    hosts = "#!/bin/sh\n" + (f"echo {launcher_host}\n" if has_launcher else "")
    data = {
        "hostfile": attribute_to(present_causes(*causes), Listing(tuple(pieces))),
        "discover_hosts.sh": attribute_to(present_causes(as_worker, behaviors.DISCOVER_HOSTS), hosts),
    }
    return build_child(job, "v1", "ConfigMap", f"{job.name}-config", behaviors.HOSTFILE, {"data": data})


def build_secret(job: Job) -> ReplicaGroup:
    """The pair of ssh keys that all Pods of a job share."""
    key = attribute_to((behaviors.SSH_KEYS, job.spec), _KEY_PLACEHOLDER)
    fields = {"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": key, "ssh-publickey": key}}
    return build_child(job, "v1", "Secret", f"{job.name}-ssh", behaviors.SSH_KEYS, fields)
