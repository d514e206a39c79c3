"""What a change comes to: Pods, GPUs, and what queues are asked for, before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podplan.diff.model import Count, Impact, JobChange, Queue
from podplan.diff.trees import Job
from podplan.kubernetes import quantities
from podplan.kubernetes.shape import mapping
from podplan.lint.checks._jobs import pod_group, queue_of, total
from podplan.lint.checks._resources import ACCELERATOR, effective, resources
from podplan.lint.subject import Job as Seen


def size(job: Job | None) -> tuple[int, int]:
    """How many Pods a job has, and how many GPUs they have together."""
    return total([group for group in job.groups if group.doc.data["kind"] == "Pod"]) if job else (0, 0)


def impact(changes: Iterable[JobChange], before: Iterable[Job], after: Iterable[Job]) -> Impact:
    """The sums over all jobs; ``changes`` are counted by what they are."""
    left, right = list(before), list(after)
    pods, gpus = (
        Count(sum(size(job)[part] for job in left), sum(size(job)[part] for job in right)) for part in (0, 1)
    )
    found = Impact(pods, gpus, tuple(_queues(left, right)))
    for change in changes:
        name = _counted_as(change)
        if name and change.is_job:
            found = found._replace(**{name: getattr(found, name) + 1})
    return found


def _counted_as(change: JobChange) -> str:
    if change.what != "changed":
        return change.what
    return {"re-run": "rerun", "in-place": "changed", "none": "relabelled", None: ""}[change.effect]


def _queues(before: list[Job], after: list[Job]) -> Iterator[Queue]:
    left, right = _asked(before), _asked(after)
    # Inventories are known by their jobs; a side without any says nothing of them.
    quotas_before, quotas = _quotas(before or after), _quotas(after or before)
    for key in sorted({*left, *right}):
        queue, resource = key
        asked = Count(left.get(key, 0), right.get(key, 0))
        was, quota = quotas_before.get(key), quotas.get(key)
        if quota != was or (asked.more and (quota is not None or ACCELERATOR.fullmatch(resource))):
            yield Queue(queue, resource, asked, quota, was)


def _asked(jobs: Iterable[Job]) -> dict[tuple[str, str], int]:
    """What the jobs of a queue ask for, by queue and resource."""
    found: dict[tuple[str, str], int] = {}
    for job in jobs:
        gang = pod_group(_seen(job))
        if gang is None:
            continue
        for group in _seen(job).pods:
            for resource in resources(group):
                key = queue_of(gang), resource
                found[key] = found.get(key, 0) + effective(group, resource) * group.replicas
    return found


def _quotas(jobs: Iterable[Job]) -> dict[tuple[str, str], int]:
    """The quotas of the inventories that jobs have, those of the later jobs first."""
    inventories = {id(job.inventory): job.inventory for job in jobs if job.inventory is not None}
    found: dict[tuple[str, str], int] = {}
    for inventory in inventories.values():
        queues = mapping(inventory.data.get("spec"), "queues")
        for queue in queues:
            for resource, amount in mapping(mapping(queues, queue), "quota").items():
                units = quantities.parse(amount)
                if units is not None:
                    found[queue, resource] = units
    return found


def _seen(job: Job) -> Seen:
    return Seen(job.cr, job.groups, job.profile, job.inventory)
