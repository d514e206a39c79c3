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


class Ask(NamedTuple):
    """The request of a job for a resource of a queue, in 10⁻⁹."""

    queue: str
    resource: str
    units: int


def size_of(groups: Sequence[ReplicaGroup]) -> tuple[int, int]:
    """Return the number of Pods, and of their GPUs in total."""
    return count_pods_and_gpus([group for group in groups if group.doc.data["kind"] == "Pod"])


def asked_by(cr: TracedDocument, groups: tuple[ReplicaGroup, ...]) -> tuple[Ask, ...]:
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
    return tuple(Ask(queue, resource, number) for resource, number in units.items())


def find_deadline(cr: TracedDocument) -> int | None:
    """Return after how many seconds a job ends at the latest, if its CR states that."""
    spec = get_mapping(cr.data, "spec")
    for section in (get_mapping(spec, "runPolicy"), spec):
        seconds = section.get("activeDeadlineSeconds")
        if isinstance(seconds, int) and not isinstance(seconds, bool) and seconds > 0:
            return seconds
    return None
