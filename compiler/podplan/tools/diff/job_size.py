"""What a job comes to: Pods, GPUs, and what it asks of its queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from podplan.core.provenance import Doc
from podplan.core.replica_groups import Group
from podplan.lint.analysis.jobs import pod_group, queue_of, total
from podplan.lint.analysis.resources import effective, resources
from podplan.lint.target import Job


class Ask(NamedTuple):
    """What a job asks for of a resource of a queue, in 10⁻⁹."""

    queue: str
    resource: str
    units: int


def size_of(groups: Sequence[Group]) -> tuple[int, int]:
    """How many Pods there are, and how many GPUs they have together."""
    return total([group for group in groups if group.doc.data["kind"] == "Pod"])


def asked_by(cr: Doc, groups: tuple[Group, ...]) -> tuple[Ask, ...]:
    """What a job asks of its queue; nothing where it has no gang."""
    job = Job(cr, groups)
    gang = pod_group(job)
    if gang is None:
        return ()
    units: dict[str, int] = {}
    for group in job.pods:
        for resource in resources(group):
            units[resource] = units.get(resource, 0) + effective(group, resource) * group.replicas
    queue = queue_of(gang)
    return tuple(Ask(queue, resource, number) for resource, number in units.items())
