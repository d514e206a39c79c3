"""The impact of a change: Pods, GPUs, and requests of queues, before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from podplan.kubernetes.accessors import get_mapping
from podplan.kubernetes.quantities import parse_quantity
from podplan.lint.analysis.resources import ACCELERATOR
from podplan.tools.diff.job_facts import JobFacts
from podplan.tools.diff.model import Count, Impact, JobChange, Queue


def compute_impact(
    changes: Iterable[JobChange], before: Sequence[JobFacts], after: Sequence[JobFacts]
) -> Impact:
    """Return the totals over jobs; ``changes`` are counted by outcome."""
    pods = Count(sum(job.pods for job in before), sum(job.pods for job in after))
    gpus = Count(sum(job.gpus for job in before), sum(job.gpus for job in after))
    result = Impact(pods, gpus, tuple(_iter_queues(before, after)))
    for change in changes:
        name = _find_counter(change)
        if name and change.is_job:
            result = result._replace(**{name: getattr(result, name) + 1})
    return result


def _find_counter(change: JobChange) -> str:
    if change.what != "changed":
        return change.what
    return {"re-run": "rerun", "in-place": "changed", "none": "relabelled", None: ""}[change.effect]


def _iter_queues(before: Sequence[JobFacts], after: Sequence[JobFacts]) -> Iterator[Queue]:
    requests_before, requests_after = _sum_requests(before), _sum_requests(after)
    # Inventories are known only through jobs; a side without jobs has no quotas.
    quotas_before, quotas_after = _read_quotas(before or after), _read_quotas(after or before)
    for key in sorted({*requests_before, *requests_after}):
        queue, resource = key
        requests = Count(requests_before.get(key, 0), requests_after.get(key, 0))
        quota_before, quota = quotas_before.get(key), quotas_after.get(key)
        if quota != quota_before or (
            requests.more and (quota is not None or ACCELERATOR.fullmatch(resource))
        ):
            yield Queue(queue, resource, requests, quota, quota_before)


def _sum_requests(jobs: Iterable[JobFacts]) -> dict[tuple[str, str], int]:
    """Return the requests of the jobs of each queue, by queue and resource."""
    requests: dict[tuple[str, str], int] = {}
    for job in jobs:
        for queue, resource, units in job.queue_requests:
            requests[queue, resource] = requests.get((queue, resource), 0) + units
    return requests


def _read_quotas(jobs: Iterable[JobFacts]) -> dict[tuple[str, str], int]:
    """Return the quotas in the inventories of jobs; those of later jobs take precedence."""
    inventories = {id(job.inventory): job.inventory for job in jobs if job.inventory is not None}
    quotas: dict[tuple[str, str], int] = {}
    for inventory in inventories.values():
        queues = get_mapping(inventory.data.get("spec"), "queues")
        for queue in queues:
            for resource, amount in get_mapping(get_mapping(queues, queue), "quota").items():
                units = parse_quantity(amount)
                if units is not None:
                    quotas[queue, resource] = units
    return quotas
