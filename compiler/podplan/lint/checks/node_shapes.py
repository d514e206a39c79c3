"""Pods and the nodes of the inventory: whether a Pod fits, and which resources remain unused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.provenance import Path, TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.inventory import (
    find_eligible_node_groups,
    get_allocatable,
    get_entry,
    iter_node_groups_with,
)
from podplan.lint.analysis.jobs import (
    count_gpus,
    find_gpu_path,
    find_replica_places,
    format_list,
    is_mode_enabled,
)
from podplan.lint.analysis.resources import (
    count_accelerators,
    find_resource_path,
    format_amount,
    get_effective_request,
    list_containers,
    list_resources,
)
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

# The largest servers that are sold with such GPUs; single machines with 16 are out of production.
GPUS_OF_A_SERVER = 8


@check()
def pod_beyond_node(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A Pod that requests more of a resource than the largest allowed node has.

    Values: ``resource``, ``needs``, ``most``, ``node``. Devices that no node has are reported by
    unknown-device, and Pods that no node with their devices admits by no-node-admits.
    """
    group, job = target.group, target.job
    if group is None:
        return
    allowed = _find_node_groups_with_devices(job, group)
    for resource in list_resources(group):
        amounts = [
            (amount, name) for name in allowed if (amount := get_allocatable(job, name, resource)) is not None
        ]
        largest, node = max(amounts, default=(0, ""))
        if len(amounts) < len(allowed) or not 0 < largest < (
            requested := get_effective_request(group, resource)
        ):
            continue
        path = find_resource_path(group, resource)
        if path is not None:
            values = {
                "resource": resource,
                "needs": format_amount(requested, resource),
                "most": format_amount(largest, resource),
                "node": node,
            }
            yield Violation(
                path, values, related=_list_node_places(job, node, resource), report_at_selector=True
            )


def _find_node_groups_with_devices(job: LoweredJob, group: ReplicaGroup) -> list[str]:
    """Return the node groups that a Pod may run on and that have its devices, according to the inventory."""
    devices = [resource for resource in list_resources(group) if "/" in resource]
    allowed, _ = find_eligible_node_groups(job, get_mapping(group.doc.data, "spec"))
    return [name for name in allowed if all(get_allocatable(job, name, device) != 0 for device in devices)]


@check()
def no_node_admits(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A Pod that labels, affinity or taints exclude from all nodes of the inventory with its GPUs.

    Values: ``resource``, ``obstacle``.
    """
    group, job = target.group, target.job
    if group is None:
        return
    resource = _find_gpu_resource(group)
    node_groups = {name for name, _ in iter_node_groups_with(job, resource)}
    allowed, obstacle = find_eligible_node_groups(
        _restrict_inventory(job, node_groups), get_mapping(group.doc.data, "spec")
    )
    path = find_gpu_path(group)
    if node_groups and not allowed and path is not None:
        yield Violation(path, {"resource": resource, "obstacle": obstacle}, report_at_selector=True)


def _restrict_inventory(job: LoweredJob, names: set[str]) -> LoweredJob:
    """Return the job with an inventory of some node groups only."""
    assert job.inventory is not None
    data = job.inventory.data
    spec = get_mapping(data, "spec")
    nodes = {name: group for name, group in get_mapping(spec, "nodes").items() if name in names}
    return job._replace(
        inventory=TracedDocument(job.inventory.name, {**data, "spec": {**spec, "nodes": nodes}})
    )


def _find_gpu_resource(group: ReplicaGroup) -> str:
    amounts = (count_accelerators(container) for _, container in list_containers(group))
    return next((has.resource for has in amounts if has.number), "")


@check()
def gpu_fragments_node(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """GPUs of a Pod that do not divide those of a node. Values: ``gpus``, ``on_node``, ``node``, ``left``."""
    for group, node, on_node in _iter_best_nodes(target):
        gpu_count = count_gpus(group)
        path = find_gpu_path(group)
        if path is not None and gpu_count < on_node and on_node % gpu_count:
            values = {"gpus": gpu_count, "on_node": on_node, "node": node, "left": on_node % gpu_count}
            related = _list_node_places(target.job, node, _find_gpu_resource(group))
            yield Violation(path, values, related=related, report_at_selector=True)


@check()
def gpu_share_exceeded(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A Pod with a part of a node's GPUs and more than the same part of its cpu or memory.

    Values: ``resource``, ``needs``, ``share``, ``gpus``, ``on_node``, ``node``, ``idle``: the GPUs of a node
    that remain unused next to such Pods.
    """
    for group, node, on_node in _iter_best_nodes(target):
        gpu_count = count_gpus(group)
        for resource in ("cpu", "memory"):
            node_amount, requested = (
                get_allocatable(target.job, node, resource),
                get_effective_request(group, resource),
            )
            path = find_resource_path(group, resource)
            if not node_amount or path is None or gpu_count >= on_node or requested > node_amount:
                continue
            fitting_pods = node_amount // requested if requested else on_node
            idle_gpus = on_node - fitting_pods * gpu_count
            if requested * on_node > node_amount * gpu_count and idle_gpus > on_node % gpu_count:
                values = {
                    "resource": resource,
                    "needs": format_amount(requested, resource),
                    "share": format_amount(node_amount * gpu_count // on_node, resource),
                    "gpus": gpu_count,
                    "on_node": on_node,
                    "node": node,
                    "idle": idle_gpus,
                }
                yield Violation(
                    path,
                    values,
                    related=_list_node_places(target.job, node, resource),
                    report_at_selector=True,
                )


@check()
def replicas_beyond_nodes(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """More Pods of a type that run together than fit on all nodes, even empty ones.

    Values: ``pods``, ``role``, ``room``.
    """
    job, replica_places = target.job, find_replica_places(target.job)
    for groups in _group_by_shape(job):
        pod_count = sum(one.replicas for one in groups)
        group = max(groups, key=lambda one: one.replicas)
        replica_type = group.replica_type
        capacities = _find_capacities(job, group)
        capacity = sum(capacities.values())
        path_of_gpus = find_gpu_path(group)
        if pod_count < 2 or not capacity or path_of_gpus is None or pod_count <= capacity:
            continue
        types = format_list(list(dict.fromkeys(one.replica_type for one in groups)))
        values = {"pods": pod_count, "role": types, "room": capacity}
        related = _list_node_count_places(job, capacities)
        if replica_type in replica_places:
            doc, path, _ = replica_places[replica_type]
            yield Violation(
                path, values, [(group.doc, path_of_gpus, "the GPUs of each Pod"), *related], doc=doc
            )
        else:
            yield Violation(
                path_of_gpus, values, related, doc=group.doc, group=group, report_at_selector=True
            )


def _group_by_shape(job: LoweredJob) -> list[list[ReplicaGroup]]:
    """The Pods by replica type; types whose Pods are equal for the nodes are together."""
    by_type: dict[str, list[ReplicaGroup]] = {}
    for each in job.pods:
        by_type.setdefault(each.replica_type, []).append(each)
    by_shape: dict[tuple[Any, ...], list[ReplicaGroup]] = {}
    for groups in by_type.values():
        requests = {name: get_effective_request(groups[0], name) for name in list_resources(groups[0])}
        shape = (*sorted(requests.items()), *_find_capacities(job, groups[0]).items())
        by_shape.setdefault(shape, []).extend(groups)
    return list(by_shape.values())


def _list_node_count_places(
    job: LoweredJob, capacities: Mapping[str, int]
) -> list[tuple[TracedDocument, Path, str]]:
    """Return the paths of node counts in the inventory, with the number of Pods that fit there."""
    if job.inventory is None:
        return []
    return [
        (job.inventory, ("spec", "nodes", name, "count"), f"room for {room}")
        for name, room in capacities.items()
    ]


def _find_capacities(job: LoweredJob, group: ReplicaGroup) -> dict[str, int]:
    """Return how many Pods of a group fit on each allowed node group; {} if that is unknown."""
    allowed, _ = find_eligible_node_groups(job, get_mapping(group.doc.data, "spec"))
    capacities: dict[str, int] = {}
    for name in allowed:
        count = get_entry(job, "nodes", name).get("count")
        pods_per_node = [
            amount // needs
            for resource in list_resources(group)
            if (needs := get_effective_request(group, resource))
            and (amount := get_allocatable(job, name, resource)) is not None
        ]
        if not isinstance(count, int) or not pods_per_node:
            return {}
        capacities[name] = count * min(pods_per_node)
    return {name: room for name, room in capacities.items() if room}


def _iter_best_nodes(target: Target) -> Iterator[tuple[ReplicaGroup, str, int]]:
    """Yield the Pod with its best node group, by name and number of GPUs."""
    group, job = target.group, target.job
    if group is None or not count_gpus(group):
        return
    allowed, _ = find_eligible_node_groups(job, get_mapping(group.doc.data, "spec"))
    sizes = {
        name: amount // quantities.UNITS_PER_ONE
        for name, amount in iter_node_groups_with(job, _find_gpu_resource(group))
    }
    fitting = {
        name: size for name, size in sizes.items() if name in allowed and _fits_empty_node(job, group, name)
    }
    if fitting:
        # A good scheduler uses the group where the least remains.
        name = min(fitting, key=lambda one: (fitting[one] % count_gpus(group), fitting[one]))
        yield group, name, fitting[name]


def _fits_empty_node(job: LoweredJob, group: ReplicaGroup, node: str) -> bool:
    """Whether a Pod fits on an empty node; a resource that the inventory does not state is enough."""
    requests = {resource: get_effective_request(group, resource) for resource in list_resources(group)}
    return all(
        amount <= have
        for resource, amount in requests.items()
        if (have := get_allocatable(job, node, resource)) is not None
    )


def _list_node_places(job: LoweredJob, node: str, resource: str) -> list[tuple[TracedDocument, Path, str]]:
    if job.inventory is None:
        return []
    return [
        (
            job.inventory,
            ("spec", "nodes", node, "allocatable", resource),
            "the allocatable amount of the node",
        )
    ]


@check(requires=("nodeName",))
def named_node_too_small(subject: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """Pods pinned to one node that together request more GPUs than it can have.

    Values: ``pods``, ``gpus``, ``node``, ``most``, ``said``: by whom that is known.
    """
    group, job = subject.group, subject.job
    node = get_text(get_mapping(subject.data, "spec"), "nodeName")
    if group is None or not node or is_mode_enabled(job, "debug"):
        return
    there = [one for one in job.pods if get_text(get_mapping(one.doc.data, "spec"), "nodeName") == node]
    pods = sum(one.replicas for one in there)
    for resource in list_resources(group) if pods > 1 else ():
        most, said = most_on_a_node(job, resource)
        asked = (
            sum(get_effective_request(one, resource) * one.replicas for one in there)
            // quantities.UNITS_PER_ONE
        )
        if 0 < most < asked:
            values = {"pods": pods, "gpus": asked, "node": node, "most": most, "said": said}
            yield Violation(("spec", "nodeName"), values, related=list(find_replica_places(job).values()))


def most_on_a_node(job: LoweredJob, resource: str) -> tuple[int, str]:
    """Return the maximum number of devices of a node, and the source of it; 0 if it is not known."""
    most = max((amount for _, amount in iter_node_groups_with(job, resource)), default=0)
    if most:
        return most // quantities.UNITS_PER_ONE, "nodes of the inventory have"
    if resource in ("nvidia.com/gpu", "amd.com/gpu"):
        return GPUS_OF_A_SERVER, "servers have"
    return 0, ""
