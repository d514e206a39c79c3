"""Pods of a replica type: the template with the operator's additions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Cursor, Traced, attribute_to, present_causes
from podplan.core.replica_groups import ReplicaGroup, build_group
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.common import go_serialization
from podplan.kinds.common.field_order import order_container_fields, order_pod_fields
from podplan.kinds.common.go_serialization import write_env, write_ports, write_volumes
from podplan.kinds.kubeflow import behaviors
from podplan.kinds.kubeflow.job import (
    Job,
    JobReplicaType,
    build_labels,
    build_main_label,
    build_metadata,
    build_name,
)
from podplan.kinds.kubeflow.pod_group import build_gang_annotations, build_gang_labels, build_scheduler_name

TracedMap = dict[str, Any]
INDEX = Indexed((0,))


class PodRange(NamedTuple):
    """Pods of a type that differ only by their index.

    ``is_first`` is for the first Pod of the leading type, ``is_main`` if it decides over the job.
    """

    start: int
    replicas: int
    is_first: bool = False
    is_main: bool = False


class PodParts(NamedTuple):
    """The additions of a kind to the Pods of a range.

    ``env`` is for each container, or for the training container only with ``only_training``.
    """

    env: list[Traced]
    only_training: bool = False
    init_containers: tuple[Any, ...] = ()


def split_ranges(job: Job, replica_type: JobReplicaType) -> list[PodRange]:
    """Split the Pods of a type into ranges: the first Pod of the leading type is a separate one."""
    count, is_main_type = replica_type.pod_count, replica_type.name in job.kind.main_types
    if replica_type is not find_leading_type(job):
        return [PodRange(0, count, is_main=is_main_type)] if count else []
    is_main = is_main_type or job.kind.has_main_worker
    ranges = [
        PodRange(0, min(count, 1), is_first=True, is_main=is_main),
        PodRange(1, count - 1, is_main=is_main_type),
    ]
    return [one for one in ranges if one.replicas > 0]


def find_leading_type(job: Job) -> JobReplicaType | None:
    """Return the type on whose first Pod the others depend."""
    return job.find_type(job.kind.find_leading_type([one.name for one in job.types]))


def build_pods(
    job: Job, replica_type: JobReplicaType, build_parts: Callable[[PodRange], PodParts]
) -> Iterator[ReplicaGroup]:
    """Build the Pods of a type."""
    for pod_range in split_ranges(job, replica_type):
        labels = build_labels(job, replica_type, INDEX)
        if pod_range.is_main:
            labels |= build_main_label(replica_type)
        parts = build_parts(pod_range)
        spec = build_pod_spec(
            job, replica_type, build_containers(job, replica_type, parts), parts.init_containers
        )
        yield build_pod_group(
            job,
            replica_type,
            build_name(job, replica_type),
            labels,
            spec,
            pod_range.start,
            pod_range.replicas,
            replica_type.template.get("metadata", "finalizers"),
        )


def build_pod_group(
    job: Job,
    replica_type: JobReplicaType,
    name: Indexed | str,
    labels: TracedMap,
    spec: TracedMap,
    start: int = 0,
    count: int = 1,
    finalizers: Cursor | None = None,
) -> ReplicaGroup:
    """Build Pods with this name and spec, and the labels and annotations of their template."""
    template = replica_type.template.get("metadata")
    written_labels, written_annotations = template.get("labels"), template.get("annotations")
    labels = {**written_labels.fields(), **labels, **build_gang_labels(job)}
    annotations = {**written_annotations.fields(), **build_gang_annotations(job, replica_type)}
    metadata = build_metadata(
        job,
        name,
        attribute_to(present_causes(written_labels, replica_type.entry, behaviors.LABELS), labels),
        attribute_to(
            present_causes(written_annotations, replica_type.entry, behaviors.POD_GROUP), annotations
        )
        if annotations
        else None,
        finalizers=finalizers,
    )
    tree = attribute_to(
        (replica_type.entry, behaviors.POD),
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec},
    )
    group = build_group(tree, replica_type.key, start, count)
    return group._replace(training_container_index=find_training_index(job, replica_type))


def find_training_index(job: Job, replica_type: JobReplicaType) -> int:
    """Return the index of the container with the kind's container name, else the first."""
    containers = replica_type.template.get("spec", "containers").entries()
    return next((i for i, one in enumerate(containers) if one.get("name").value == job.kind.container), 0)


def build_containers(job: Job, replica_type: JobReplicaType, parts: PodParts) -> list[Any]:
    """Build the containers of a type with the variables and the port that the operator adds."""
    training_index = find_training_index(job, replica_type)
    containers: list[Any] = []
    for index, container in enumerate(replica_type.template.get("spec", "containers").entries()):
        tree = write_container(container)
        if parts.env and (index == training_index or not parts.only_training):
            tree["env"] = [*write_env(container), *parts.env]
        if index == training_index and job.kind.port and find_port(job, replica_type) is None:
            ports = write_ports(container, behaviors.PROTOCOL)
            tree["ports"] = [*ports, build_default_port(job, replica_type)]
        containers.append(attribute_to(container, order_container_fields(tree)))
    return containers


def write_container(container: Cursor) -> TracedMap:
    """Return a container as the operator writes it."""
    return go_serialization.write_container(container, behaviors.PROTOCOL, behaviors.QUANTITY)


def find_port(job: Job, replica_type: JobReplicaType) -> Cursor | None:
    """Return the port of the training container with the name of the kind's port."""
    index = find_training_index(job, replica_type)
    container = replica_type.template.get("spec", "containers", index)
    ports = (one for one in container.get("ports").entries() if one.get("name").value == job.kind.port_name)
    return next(ports, None)


def resolve_port(job: Job, replica_type: JobReplicaType) -> Traced:
    """Return the number of the kind's port in a type: as stated, else the default."""
    number = _find_port_number(job, replica_type)
    if number is not None:
        return attribute_to((number, behaviors.DEFAULT_PORT), number.value)
    return attribute_to((behaviors.DEFAULT_PORT, replica_type.entry), job.kind.port)


def find_port_origin(job: Job, replica_type: JobReplicaType) -> Cursor:
    """Return where the number of the kind's port of a type is stated, else the type itself."""
    number = _find_port_number(job, replica_type)
    return number if number is not None else replica_type.entry


def _find_port_number(job: Job, replica_type: JobReplicaType) -> Cursor | None:
    port = find_port(job, replica_type)
    return port.get("containerPort") if port is not None and port.get("containerPort").exists else None


def build_default_port(job: Job, replica_type: JobReplicaType) -> Traced:
    """Build the port that the operator adds to the training container."""
    return attribute_to(
        (behaviors.DEFAULT_PORT, replica_type.entry),
        {"name": job.kind.port_name, "containerPort": job.kind.port},
    )


def build_pod_spec(
    job: Job,
    replica_type: JobReplicaType,
    containers: list[Any],
    init_containers: tuple[Any, ...] = (),
    **fields: Any,
) -> TracedMap:
    """Build the spec of the template with containers, restart policy and scheduler from the operator."""
    template = replica_type.template.get("spec")
    tree: TracedMap = {**template.fields(), "containers": containers}
    if "volumes" in tree:
        tree["volumes"] = write_volumes(template.get("volumes"), behaviors.QUANTITY)
    tree |= fields
    written = template.get("initContainers").entries()
    if written or init_containers:
        tree["initContainers"] = [
            *(attribute_to(one, order_container_fields(write_container(one))) for one in written),
            *init_containers,
        ]
    tree["restartPolicy"] = _build_restart_policy(job, replica_type)
    scheduler = build_scheduler_name(job, template)
    if scheduler is not None:
        tree["schedulerName"] = scheduler
    return order_pod_fields(tree)


def _build_restart_policy(job: Job, replica_type: JobReplicaType) -> Traced:
    policy = replica_type.entry.get("restartPolicy")
    value = str(policy.value or job.kind.restart_policy)
    return attribute_to(
        (policy if policy.value else replica_type.entry, behaviors.RESTART_POLICY),
        "Never" if value == "ExitCode" else value,
        overridden=(replica_type.template.get("spec", "restartPolicy"),),
    )
