"""The impact of a change: Pods, GPUs, and requests of queues, before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.analysis.resources import ACCELERATOR
from podplan.tools.diff.model import Count, Impact, JobChange, Queue
from podplan.tools.diff.repository_state import Job


def impact(changes: Iterable[JobChange], before: Sequence[Job], after: Sequence[Job]) -> Impact:
    """Return the totals over jobs; ``changes`` are counted by outcome."""
    pods = Count(sum(job.pods for job in before), sum(job.pods for job in after))
    gpus = Count(sum(job.gpus for job in before), sum(job.gpus for job in after))
    found = Impact(pods, gpus, tuple(_queues(before, after)))
    for change in changes:
        name = _counted_as(change)
        if name and change.is_job:
            found = found._replace(**{name: getattr(found, name) + 1})
    return found


def _counted_as(change: JobChange) -> str:
    if change.what != "changed":
        return change.what
    return {"re-run": "rerun", "in-place": "changed", "none": "relabelled", None: ""}[change.effect]


def _queues(before: Sequence[Job], after: Sequence[Job]) -> Iterator[Queue]:
    left, right = _asked(before), _asked(after)
    # Inventories are known only through jobs; a side without jobs has no quotas.
    quotas_before, quotas = _quotas(before or after), _quotas(after or before)
    for key in sorted({*left, *right}):
        queue, resource = key
        asked = Count(left.get(key, 0), right.get(key, 0))
        was, quota = quotas_before.get(key), quotas.get(key)
        if quota != was or (asked.more and (quota is not None or ACCELERATOR.fullmatch(resource))):
            yield Queue(queue, resource, asked, quota, was)


def _asked(jobs: Iterable[Job]) -> dict[tuple[str, str], int]:
    """Return the requests of the jobs of each queue, by queue and resource."""
    found: dict[tuple[str, str], int] = {}
    for job in jobs:
        for queue, resource, units in job.asks:
            found[queue, resource] = found.get((queue, resource), 0) + units
    return found


def _quotas(jobs: Iterable[Job]) -> dict[tuple[str, str], int]:
    """Return the quotas in the inventories of jobs; those of later jobs take precedence."""
    inventories = {id(job.inventory): job.inventory for job in jobs if job.inventory is not None}
    found: dict[tuple[str, str], int] = {}
    for inventory in inventories.values():
        queues = get_mapping(inventory.data.get("spec"), "queues")
        for queue in queues:
            for resource, amount in get_mapping(get_mapping(queues, queue), "quota").items():
                units = quantities.parse_quantity(amount)
                if units is not None:
                    found[queue, resource] = units
    return found
