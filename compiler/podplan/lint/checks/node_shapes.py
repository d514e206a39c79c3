"""Pods against the nodes of the inventory: whether one fits, and what it leaves of a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.provenance import Doc, Path
from podplan.core.replica_groups import Group
from podplan.core.typing import Any
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import mapping, text
from podplan.lint.analysis.inventory import allocatable, eligible, entry, node_groups_with
from podplan.lint.analysis.jobs import gpu_place, gpus, mode, replicas_of
from podplan.lint.analysis.resources import accelerators, containers, effective, place, resources, shown
from podplan.lint.target import Hit, Job, Subject

# The largest servers that are sold with such GPUs; single machines with 16 are out of production.
GPUS_OF_A_SERVER = 8


def pod_beyond_node(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A Pod that asks for more of something than the largest node that may run it has.

    Values: ``resource``, ``needs``, ``most``, ``node``. What no node of the inventory has is left to
    unknown-device, and Pods that the nodes with their devices keep away to no-node-admits.
    """
    group, job = subject.group, subject.job
    if group is None:
        return
    allowed = _with_devices(job, group)
    for resource in resources(group):
        known = [
            (amount, name) for name in allowed if (amount := allocatable(job, name, resource)) is not None
        ]
        most, node = max(known, default=(0, ""))
        if len(known) < len(allowed) or not 0 < most < (needs := effective(group, resource)):
            continue
        at = place(group, resource)
        if at is not None:
            values = {
                "resource": resource,
                "needs": shown(needs, resource),
                "most": shown(most, resource),
                "node": node,
            }
            yield Hit(at, values, related=_node(job, node, resource), by_choice=True)


def _with_devices(job: Job, group: Group) -> list[str]:
    """The node groups that a Pod may run on and that have its devices, as far as the inventory says."""
    devices = [resource for resource in resources(group) if "/" in resource]
    allowed, _ = eligible(job, mapping(group.doc.data, "spec"))
    return [name for name in allowed if all(allocatable(job, name, device) != 0 for device in devices)]


def no_node_admits(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A Pod that no node of the inventory with its GPUs may run: labels, affinity or taints keep it away.

    Values: ``resource``, ``obstacle``.
    """
    group, job = subject.group, subject.job
    if group is None:
        return
    resource = _gpu_resource(group)
    having = {name for name, _ in node_groups_with(job, resource)}
    allowed, obstacle = eligible(_only(job, having), mapping(group.doc.data, "spec"))
    at = gpu_place(group)
    if having and not allowed and at is not None:
        yield Hit(at, {"resource": resource, "obstacle": obstacle}, by_choice=True)


def _only(job: Job, names: set[str]) -> Job:
    """The job with an inventory that has some of the node groups only."""
    assert job.inventory is not None
    data = job.inventory.data
    spec = mapping(data, "spec")
    nodes = {name: group for name, group in mapping(spec, "nodes").items() if name in names}
    return job._replace(inventory=Doc(job.inventory.name, {**data, "spec": {**spec, "nodes": nodes}}))


def _gpu_resource(group: Group) -> str:
    found = (accelerators(container) for _, container in containers(group))
    return next((has.resource for has in found if has.number), "")


def gpu_fragments_node(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """GPUs of a Pod that do not divide those of a node. Values: ``gpus``, ``on_node``, ``node``, ``left``."""
    for group, node, on_node in _on_nodes(subject):
        has = gpus(group)
        at = gpu_place(group)
        if at is not None and has < on_node and on_node % has:
            values = {"gpus": has, "on_node": on_node, "node": node, "left": on_node % has}
            related = _node(subject.job, node, _gpu_resource(group))
            yield Hit(at, values, related=related, by_choice=True)


def gpu_share_exceeded(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A Pod with some of the GPUs of a node that takes more than their share of its cpu or memory.

    Values: ``resource``, ``needs``, ``share``, ``gpus``, ``on_node``, ``node``, ``idle``: the GPUs of a node
    that nobody can use beside such Pods.
    """
    for group, node, on_node in _on_nodes(subject):
        has = gpus(group)
        for resource in ("cpu", "memory"):
            whole, needs = allocatable(subject.job, node, resource), effective(group, resource)
            at = place(group, resource)
            if not whole or at is None or has >= on_node or needs > whole:
                continue
            fit = whole // needs if needs else on_node
            idle = on_node - fit * has
            if needs * on_node > whole * has and idle > on_node % has:
                values = {
                    "resource": resource,
                    "needs": shown(needs, resource),
                    "share": shown(whole * has // on_node, resource),
                    "gpus": has,
                    "on_node": on_node,
                    "node": node,
                    "idle": idle,
                }
                yield Hit(at, values, related=_node(subject.job, node, resource), by_choice=True)


def replicas_beyond_nodes(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """More Pods of a type that run together than all nodes hold, even when they are empty.

    Values: ``pods``, ``role``, ``room``.
    """
    job, written = subject.job, replicas_of(subject.job)
    by_role: dict[str, list[Group]] = {}
    for each in job.pods:
        by_role.setdefault(each.role, []).append(each)
    for role, of_role in by_role.items():
        together, group = sum(one.replicas for one in of_role), of_role[0]
        rooms = _rooms(job, group)
        room = sum(rooms.values())
        at = gpu_place(group)
        if together < 2 or not room or at is None or together <= room:
            continue
        values = {"pods": together, "role": role, "room": room}
        related = _counts(job, rooms)
        if role in written:
            doc, path, _ = written[role]
            yield Hit(path, values, [(group.doc, at, "what each asks for"), *related], doc=doc)
        else:
            yield Hit(at, values, related, doc=group.doc, group=group, by_choice=True)


def _counts(job: Job, rooms: Mapping[str, int]) -> list[tuple[Doc, Path, str]]:
    """Where the inventory says how many nodes there are, with the Pods that they have room for."""
    if job.inventory is None:
        return []
    return [
        (job.inventory, ("spec", "nodes", name, "count"), f"room for {room}") for name, room in rooms.items()
    ]


def _rooms(job: Job, group: Group) -> dict[str, int]:
    """How many Pods of a group the nodes hold that may run them, if any; {} where that is unknown."""
    allowed, _ = eligible(job, mapping(group.doc.data, "spec"))
    rooms: dict[str, int] = {}
    for name in allowed:
        count = entry(job, "nodes", name).get("count")
        each = [
            amount // needs
            for resource in resources(group)
            if (needs := effective(group, resource))
            and (amount := allocatable(job, name, resource)) is not None
        ]
        if not isinstance(count, int) or not each:
            return {}
        rooms[name] = count * min(each)
    return {name: room for name, room in rooms.items() if room}


def _on_nodes(subject: Subject) -> Iterator[tuple[Group, str, int]]:
    """The Pod with the node group that suits it best, by name and number of GPUs."""
    group, job = subject.group, subject.job
    if group is None or not gpus(group):
        return
    allowed, _ = eligible(job, mapping(group.doc.data, "spec"))
    sizes = {name: amount // quantities.ONE for name, amount in node_groups_with(job, _gpu_resource(group))}
    fitting = {name: size for name, size in sizes.items() if name in allowed and _fits(job, group, name)}
    if fitting:
        # The group with least left over is where a good scheduler puts it.
        name = min(fitting, key=lambda one: (fitting[one] % gpus(group), fitting[one]))
        yield group, name, fitting[name]


def _fits(job: Job, group: Group, node: str) -> bool:
    """Whether an empty node holds a Pod; what the inventory does not say is enough."""
    needs = {resource: effective(group, resource) for resource in resources(group)}
    return all(
        amount <= have
        for resource, amount in needs.items()
        if (have := allocatable(job, node, resource)) is not None
    )


def _node(job: Job, node: str, resource: str) -> list[tuple[Doc, Path, str]]:
    if job.inventory is None:
        return []
    return [(job.inventory, ("spec", "nodes", node, "allocatable", resource), "what a node has of it")]


def named_node_too_small(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Pods that name one node, which cannot have as many GPUs as they ask for together.

    Values: ``pods``, ``gpus``, ``node``, ``most``, ``said``: by whom that is known.
    """
    group, job = subject.group, subject.job
    node = text(mapping(subject.data, "spec"), "nodeName")
    if group is None or not node or mode(job, "debug"):
        return
    there = [one for one in job.pods if text(mapping(one.doc.data, "spec"), "nodeName") == node]
    pods = sum(one.replicas for one in there)
    for resource in resources(group) if pods > 1 else ():
        most, said = most_on_a_node(job, resource)
        asked = sum(effective(one, resource) * one.replicas for one in there) // quantities.ONE
        if 0 < most < asked:
            values = {"pods": pods, "gpus": asked, "node": node, "most": most, "said": said}
            yield Hit(("spec", "nodeName"), values, related=list(replicas_of(job).values()))


def most_on_a_node(job: Job, resource: str) -> tuple[int, str]:
    """How many devices of a kind a node has at most, and who says so; 0 where that is not known."""
    most = max((amount for _, amount in node_groups_with(job, resource)), default=0)
    if most:
        return most // quantities.ONE, "the nodes of the inventory have"
    if resource in ("nvidia.com/gpu", "amd.com/gpu"):
        return GPUS_OF_A_SERVER, "servers have"
    return 0, ""
