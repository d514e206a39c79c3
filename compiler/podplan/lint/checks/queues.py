"""Queues of the inventory: whether they exist, and whether they allow the requests of a job."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument, trace_to_source
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.lint.analysis.cross_job import RebuildJob, get_name_place
from podplan.lint.analysis.deadlines import find_job_deadline
from podplan.lint.analysis.inventory import (
    describe_absence,
    describe_namespaces,
    find_inventory_place,
    get_entry,
    get_section,
    is_available_in,
)
from podplan.lint.analysis.jobs import (
    JobIdentity,
    build_name_summary,
    find_pod_group,
    format_list,
    namespace_of,
    queue_of,
    spec_of,
)
from podplan.lint.analysis.resources import format_amount, get_effective_request
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

SECONDS_PER_UNIT = {"d": 86400, "h": 3600, "m": 60, "s": 1}


@check()
def unknown_queue(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A queue that the inventory does not have, or not for the namespace. Values: ``queue``, ``why``."""
    gang, job = find_pod_group(target.job), target.job
    queues = get_section(job, "queues")
    if gang is None or not queues:
        return
    queue, job_namespace = queue_of(gang), namespace_of(job)
    allowed = get_entry(job, "namespaces", job_namespace).get("queues")
    place: tuple[str, ...]
    if queue not in queues:
        reason, place = describe_absence(queue, queues, 8), ("queues",)
    elif not is_available_in(get_entry(job, "queues", queue), job_namespace):
        reason = f'is for {describe_namespaces(get_entry(job, "queues", queue))}, not for "{job_namespace}"'
        place = "queues", queue, "namespaces"
    elif isinstance(allowed, list) and allowed and queue not in allowed:
        reason = (
            f'may not be used in the namespace "{job_namespace}", which has'
            f" {format_list(list(map(str, allowed)), 8)}"
        )
        place = "namespaces", job_namespace, "queues"
    else:
        return
    values, related = {"queue": queue, "why": reason}, find_inventory_place(job, *place)
    yield Violation(("spec", "queue"), values, related, doc=gang.doc, group=gang)


@check()
def priority_out_of_bounds(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A priority that the queue does not allow. Values: ``priority``, ``queue``, ``least``, ``most``."""
    gang, job = find_pod_group(target.job), target.job
    if gang is None or job.inventory is None:
        return
    # The documentation contradicts itself about the default priority
    # (docs/evidence/t9k-common.md#priority).
    scheduler = get_mapping(get_mapping(spec_of(job), "scheduler"), "t9kScheduler")
    queue, priority = queue_of(gang), scheduler.get("priority")
    bounds = get_mapping(get_entry(job, "queues", queue), "priority")
    minimum, maximum = bounds.get("min", 0), bounds.get("max", 100)
    if not bounds or not all(isinstance(one, int) for one in (priority, minimum, maximum)):
        return
    if minimum <= priority <= maximum:
        return
    values = {"priority": priority, "queue": queue, "least": minimum, "most": maximum}
    related = [(job.inventory, ("spec", "queues", queue, "priority"), "the priorities of the queue")]
    yield Violation(("spec", "priority"), values, related=related, doc=gang.doc, group=gang)


@check(aliases=("hardware-not-in-queue",))
def queue_lacks_hardware(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A hardware class of the profile that the queue does not support.

    Values: ``hardware``, ``queue``, ``serves`` (the classes of the queue).
    """
    gang, job = find_pod_group(target.job), target.job
    if gang is None or job.profile is None or job.inventory is None:
        return
    queue = queue_of(gang)
    served = [name for _, name in get_texts(get_entry(job, "queues", queue), "hardware")]
    spec = get_mapping(job.profile.data, "spec")
    requested: list[tuple[Path, str]] = [(("spec", "hardware"), get_text(spec, "hardware"))]
    requested += [
        (("spec", "roles", number, "hardware"), get_text(role, "hardware"))
        for number, role in get_entries(spec, "roles")
    ]
    for path, name in requested:
        if served and name and name not in served:
            values = {"hardware": name, "queue": queue, "serves": format_list(served, 8)}
            related = [(job.inventory, ("spec", "queues", queue, "hardware"), "the hardware of the queue")]
            yield Violation(path, values, related=related, doc=job.profile)


@check()
def deadline_beyond_queue(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A deadline after the time at which the queue pauses a job.

    Values: ``deadline`` and ``most`` in hours, ``queue``.
    """
    gang, inventory = find_pod_group(target.job), target.job.inventory
    deadline = find_job_deadline(target.job)
    if gang is None or inventory is None or deadline is None or not isinstance(deadline.seconds, int):
        return
    queue = queue_of(gang)
    limit = _parse_duration(get_text(get_entry(target.job, "queues", queue), "maxDuration"))
    if limit and deadline.seconds > limit:
        values = {"deadline": f"{deadline.seconds / 3600:.4g}", "most": f"{limit / 3600:.4g}", "queue": queue}
        path: Path = ("spec", "queues", queue, "maxDuration")
        related = [(inventory, path, "the maximum run time of the queue")]
        yield Violation(deadline.path, values, related=related)


def _parse_duration(duration: str) -> int:
    seconds, digits = 0, ""
    for letter in duration:
        if letter in SECONDS_PER_UNIT:
            seconds += int(digits or 0) * SECONDS_PER_UNIT[letter]
            digits = ""
        else:
            digits += letter
    return seconds


class QuotaRequest(NamedTuple):
    """The request of a job and the quota in its inventory, in 10⁻⁹ of a resource."""

    resource: str
    requested: int
    quota: int


class QueueDemand(NamedTuple):
    """The requests of a job to its queue, and the file of the job."""

    job: JobIdentity
    file: str
    queue: str
    requests: tuple[QuotaRequest, ...]

    @property
    def keys(self) -> list[Hashable]:
        return [self.queue]

    @property
    def owner(self) -> Hashable:
        return self.job


def summarize_demand(job: LoweredJob) -> QueueDemand | None:
    """Summarize the requests of a job; None for other objects, and without a queue or a quota."""
    gang = find_pod_group(job)
    if job.cr is None or gang is None:
        return None
    queue = queue_of(gang)
    requests = tuple(
        QuotaRequest(
            resource, sum(get_effective_request(group, resource) * group.replicas for group in job.pods), most
        )
        for resource, written in get_mapping(get_entry(job, "queues", queue), "quota").items()
        if (most := quantities.parse_quantity(written)) is not None
    )
    if not requests:
        return None
    source = trace_to_source(job.cr, ())[-1].doc.source
    return QueueDemand(
        build_name_summary(job).identity, source.file if source is not None else "", queue, requests
    )


class JobRequest(NamedTuple):
    """The request of one numbered job and the quota of its queue, in 10⁻⁹ of a resource."""

    requested: int
    job_number: int
    file: str
    quota: int


@check(summarize=summarize_demand)
def queue_oversubscribed(
    summaries: Mapping[int, QueueDemand], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """Jobs that together request more than the quota of their queue; reported once, at the largest.

    Values: ``queue``, ``resource``, ``needs``, ``quota``, ``jobs``.
    """
    by_queue = _group_requests(summaries, _find_possibly_exceeded(summaries))
    for (queue, resource), requests in sorted(by_queue.items(), key=lambda item: item[1][0].job_number):
        requested = sum(one.requested for one in requests)
        if len(requests) > 1 and requested > requests[0].quota:
            values = {
                "queue": queue,
                "resource": resource,
                "needs": format_amount(requested, resource),
                "quota": format_amount(requests[0].quota, resource),
                "jobs": len(requests),
            }
            yield requests[0].job_number, _build_violation(values, requests, rebuild_job)


def _build_violation(
    values: Mapping[str, Any], requests: list[JobRequest], rebuild_job: RebuildJob
) -> Violation:
    """Build the violation at the largest job, with the quota and the first jobs as related locations."""
    job, resource = rebuild_job(requests[0].job_number), values["resource"]
    gang, inventory = find_pod_group(job), job.inventory
    assert gang is not None
    assert inventory is not None
    related: list[tuple[TracedDocument, Path, str]] = [
        (inventory, ("spec", "queues", values["queue"], "quota", resource), "the quota of the queue")
    ]
    for request in requests[:5]:
        cr, name_path, name = get_name_place(rebuild_job(request.job_number))
        related.append((cr, name_path, f"{name} requests {format_amount(request.requested, resource)}"))
    files = {one.file for one in requests}
    return Violation(
        ("spec", "queue"), values, related=related, doc=gang.doc, group=gang, related_files=files
    )


def _find_possibly_exceeded(summaries: Mapping[int, QueueDemand]) -> list[tuple[str, str]]:
    """Return queues and resources whose quota is exceeded if every variant of a job counts.

    Most queues are finished by these sums; only for the others are single jobs compared.
    """
    sums: dict[tuple[str, str], int] = {}
    quotas: dict[tuple[str, str], int] = {}
    for demand in summaries.values():
        for resource, requested, quota in demand.requests:
            key = demand.queue, resource
            sums[key] = sums.get(key, 0) + requested
            quotas[key] = min(quota, quotas.get(key, quota))
    return [key for key, needs in sums.items() if needs > quotas[key]]


def _group_requests(
    summaries: Mapping[int, QueueDemand], selected: Collection[tuple[str, str]]
) -> dict[tuple[str, str], list[JobRequest]]:
    """Return the requests of jobs for the ``selected`` queues and resources, largest first.

    Of the variants of a job only the largest request counts.
    """
    largest: dict[tuple[str, str], dict[JobIdentity, JobRequest]] = {key: {} for key in selected}
    for number, demand in summaries.items() if selected else ():
        for resource, requested, quota in demand.requests:
            of_queue = largest.get((demand.queue, resource))
            if requested and of_queue is not None:
                previous = of_queue.get(demand.job)
                if previous is None or requested > previous.requested:
                    of_queue[demand.job] = JobRequest(requested, number, demand.file, quota)
    requests_by_queue = {key: those.values() for key, those in largest.items() if those}
    return {key: sorted(those, key=lambda one: -one.requested) for key, those in requests_by_queue.items()}
