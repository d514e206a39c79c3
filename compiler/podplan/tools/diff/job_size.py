"""The size of a job: Pods, GPUs, and requests of its queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.analysis.jobs import count_pods_and_gpus, find_pod_group, queue_of
from podplan.lint.analysis.resources import get_effective_request, list_resources
from podplan.lint.target import LoweredJob


class QueueRequest(NamedTuple):
    """The request of a job for a resource of a queue, in 10⁻⁹."""

    queue: str
    resource: str
    units: int


def count_size(groups: Sequence[ReplicaGroup]) -> tuple[int, int]:
    """Return the number of Pods, and of their GPUs in total."""
    return count_pods_and_gpus([group for group in groups if group.doc.data["kind"] == "Pod"])


def count_gpus_on_merge(before: Sequence[ReplicaGroup], after: Sequence[ReplicaGroup]) -> int:
    """Return the GPUs of the Pods that a controller adds, less those that it deletes, if it takes over the
    numbers of replicas only: new Pods have the new template, the others keep the old one."""
    old, new = _count_pods_by_type(before), _count_pods_by_type(after)
    total = 0
    for replica_type in {**old, **new}:
        old_pods, old_gpus = old.get(replica_type, (0, 0))
        new_pods, new_gpus = new.get(replica_type, (0, 0))
        pods, gpus = (new_pods, new_gpus) if new_pods > old_pods else (old_pods, old_gpus)
        total += (new_pods - old_pods) * gpus // max(pods, 1)
    return total


def _count_pods_by_type(groups: Sequence[ReplicaGroup]) -> dict[str, tuple[int, int]]:
    types = dict.fromkeys(group.replica_type for group in groups)
    return {one: count_size([group for group in groups if group.replica_type == one]) for one in types}


def list_queue_requests(cr: TracedDocument, groups: tuple[ReplicaGroup, ...]) -> tuple[QueueRequest, ...]:
    """Return the requests of a job of its queue; empty without a gang."""
    job = LoweredJob(cr, groups)
    gang = find_pod_group(job)
    if gang is None:
        return ()
    units: dict[str, int] = {}
    for group in job.pods:
        for resource in list_resources(group):
            units[resource] = units.get(resource, 0) + get_effective_request(group, resource) * group.replicas
    queue = queue_of(gang)
    return tuple(QueueRequest(queue, resource, number) for resource, number in units.items())


def find_deadline(cr: TracedDocument) -> int | None:
    """Return after how many seconds a job ends at the latest, if its CR states that."""
    spec = get_mapping(cr.data, "spec")
    for section in (get_mapping(spec, "runPolicy"), spec):
        seconds = section.get("activeDeadlineSeconds")
        if isinstance(seconds, int) and not isinstance(seconds, bool) and seconds > 0:
            return seconds
    return None
