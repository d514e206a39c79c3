"""The headless Service of each Pod."""

from __future__ import annotations

from podplan.core.provenance import Traced, attribute_to
from podplan.core.replica_groups import ReplicaGroup, build_group
from podplan.core.typing import Any
from podplan.kinds.kubeflow import behaviors
from podplan.kinds.kubeflow.job import Job, JobReplicaType, build_labels, build_metadata, build_name
from podplan.kinds.kubeflow.pods import INDEX, build_default_port, find_port


def build_services(job: Job, replica_type: JobReplicaType) -> list[ReplicaGroup]:
    """Build the Services of a type as one group; none without Pods."""
    if replica_type.pod_count <= 0:
        return []
    labels = build_labels(job, replica_type, INDEX)
    tree = attribute_to(
        (replica_type.entry, behaviors.SERVICE),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": build_metadata(job, build_name(job, replica_type), labels),
            "spec": {"clusterIP": "None", "selector": labels, "ports": _build_ports(job, replica_type)},
        },
    )
    return [build_group(tree, replica_type.key, 0, replica_type.pod_count)]


def _build_ports(job: Job, replica_type: JobReplicaType) -> list[Any]:
    """Build the ports of the container with the kind's name: only name and number, the last of each name.

    Source: docs/evidence/training-operator.md#services.
    """
    by_name: dict[Any, Traced] = {}
    for container in replica_type.template.get("spec", "containers").entries():
        if container.get("name").value != job.kind.container:
            continue
        for port in container.get("ports").entries():
            fields = {"name": port.get("name"), "port": port.get("containerPort")}
            by_name[port.get("name").value] = attribute_to((port, behaviors.SERVICE), fields)
        break
    if find_port(job, replica_type) is None:
        default = build_default_port(job, replica_type)
        by_name[job.kind.port_name] = attribute_to(
            (behaviors.DEFAULT_PORT, replica_type.entry),
            {"name": default.value["name"], "port": default.value["containerPort"]},
        )
    return list(by_name.values())
