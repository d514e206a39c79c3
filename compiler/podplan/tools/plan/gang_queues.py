"""Verdicts about gangs by their queue in a ClusterInventory or in Volcano."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from podplan.cluster.admission import PlannedPodSet, Verdict
from podplan.cluster.amounts import round_amounts
from podplan.cluster.model import Cluster
from podplan.core.provenance import Cursor, root_cursor
from podplan.core.replica_groups import ReplicaGroup
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.inventory import get_entry, get_section, is_available_in
from podplan.lint.analysis.jobs import find_pod_group, namespace_of, queue_of
from podplan.lint.analysis.resources import format_amount, get_effective_request, list_resources
from podplan.lint.checks.gangs import sum_smallest_requests
from podplan.lint.checks.volcano_queues import (
    DEFAULT_QUEUE,
    OWN_QUEUES,
    is_closed,
    is_of_volcano,
    iter_lineage,
    list_clear_queues,
)
from podplan.lint.target import LoweredJob
from podplan.pipeline import JobPlan

_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


class GangVerdict(NamedTuple):
    """A verdict, and the quota of the queue in the units of Kueue, for the sums of all jobs."""

    verdict: Verdict
    quota: Mapping[str, int] = {}


class _Requests(NamedTuple):
    """The requests of all Pods of a job, in units of 10⁻⁹ and as pod sets."""

    totals: Mapping[str, int]
    pod_sets: tuple[PlannedPodSet, ...]


def decide_by_inventory(plan: JobPlan) -> GangVerdict:
    """Decide about a job whose kind Kueue does not know: the quota of the queue of its gang."""
    if not plan.is_lowered:
        return GangVerdict(Verdict("unknown", "the Pods of this job are not known"))
    job = LoweredJob(plan.cr, plan.replica_groups, inventory=plan.inventory)
    gang = find_pod_group(job)
    if gang is None:
        reason = "Kueue does not manage its kind"
        assert plan.cr is not None
        if not get_text(get_mapping(get_mapping(plan.cr.data, "metadata"), "labels"), _QUEUE_LABEL):
            reason = f"the job names no queue, and {reason}"
        return GangVerdict(Verdict("ignored", reason))
    queue, requests = queue_of(gang), _sum_requests(job)
    verdict = Verdict("unknown", "no ClusterInventory states this queue", queue, pod_sets=requests.pod_sets)
    queues = get_section(job, "queues")
    if not queues:
        return GangVerdict(verdict)
    place = root_cursor(gang.doc).get("spec", "queue")
    if queue not in queues:
        message = f"queue {queue} is not in the inventory"
        return GangVerdict(verdict._replace(name="inadmissible", message=message, place=place))
    entry = get_entry(job, "queues", queue)
    if not is_available_in(entry, namespace_of(job)):
        message = f"queue {queue} is not for the namespace {namespace_of(job)}"
        return GangVerdict(verdict._replace(name="inadmissible", message=message, place=place))
    parsed = {name: quantities.parse_quantity(value) for name, value in get_mapping(entry, "quota").items()}
    quota = {name: units for name, units in parsed.items() if units is not None}
    if not quota:
        return GangVerdict(verdict._replace(message=f"the inventory states no quota of queue {queue}"))
    return _compare(verdict, requests.totals, [(queue, quota, place)])


def decide_by_volcano(plan: JobPlan, cluster: Cluster) -> GangVerdict | None:
    """Decide about a job that Volcano schedules; None for any other, and if git holds no queue."""
    if not plan.is_lowered or not cluster.volcano_queues:
        return None
    job = LoweredJob(plan.cr, plan.replica_groups)
    gang = find_pod_group(job)
    if gang is None or not is_of_volcano(gang):
        return None
    queue, requests = queue_of(gang) or DEFAULT_QUEUE, _sum_requests(job)
    verdict = Verdict("unknown", queue=queue, pod_sets=requests.pod_sets)
    place = root_cursor(gang.doc).get("spec", "queue")
    queues = list_clear_queues(cluster)
    if queue not in cluster.volcano_queues and queue not in OWN_QUEUES:
        message = f"Queue {queue} doesn't exist"
        return GangVerdict(verdict._replace(name="inadmissible", message=message, place=place))
    if queue not in queues:
        message = f"git does not state the capability of Queue {queue}"
        return GangVerdict(verdict._replace(message=message))
    if is_closed(queues[queue]):
        message = f"Queue {queue} is {queues[queue].state}"
        return GangVerdict(verdict._replace(name="inadmissible", message=message, place=queues[queue].place))
    totals = _sum_minimum(gang, job, requests.totals)
    lineage = [
        (one.name, one.capability, one.place.get("spec", "capability")) for one in iter_lineage(queue, queues)
    ]
    return _compare(verdict, totals, lineage)


def _sum_minimum(gang: ReplicaGroup, job: LoweredJob, totals: Mapping[str, int]) -> Mapping[str, int]:
    """Return what Volcano compares with the capability: the minResources of the PodGroup, else the least
    that minMember Pods request."""
    spec = get_mapping(gang.doc.data, "spec")
    written = get_mapping(spec, "minResources")
    parsed = {name: quantities.parse_quantity(value) for name, value in written.items()}
    stated = {name: units for name, units in parsed.items() if units is not None}
    members = spec.get("minMember")
    if stated or not isinstance(members, int):
        return stated or totals
    return {name: sum_smallest_requests(job.pods, members, name)[0] for name in totals}


def _sum_requests(job: LoweredJob) -> _Requests:
    totals: dict[str, int] = {}
    sizes: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}
    for group in job.pods:
        requests = {name: get_effective_request(group, name) for name in list_resources(group)}
        for name, units in requests.items():
            totals[name] = totals.get(name, 0) + units * group.replicas
        shown = tuple((name, format_amount(units, name)) for name, units in requests.items() if units)
        # The first replica of a type may be a separate group.
        sizes[group.replica_type, shown] = sizes.get((group.replica_type, shown), 0) + group.replicas
    pod_sets = (PlannedPodSet(name, size, dict(shown), {}, 0) for (name, shown), size in sizes.items())
    return _Requests(totals, tuple(pod_sets))


def _compare(
    verdict: Verdict, totals: Mapping[str, int], limits: list[tuple[str, Mapping[str, int], Cursor]]
) -> GangVerdict:
    """Compare requests with the limits of a queue and of its parents, each with its name and place."""
    for queue, quota, place in limits:
        over = list(_iter_excess(queue, quota, totals))
        if over:
            return GangVerdict(
                verdict._replace(name="pending", message=", ".join(over), place=place, cause="quota")
            )
    quota = round_amounts(limits[0][1])
    used = round_amounts(totals)
    usage = {("", name): used[name] for name in quota if used.get(name)}
    message = "the quota of the queue suffices"
    pod_sets = tuple(one._replace(admitted_size=one.size) for one in verdict.pod_sets)
    admitted = verdict._replace(name="admitted", message=message, usage=usage, pod_sets=pod_sets)
    return GangVerdict(admitted, quota)


def _iter_excess(queue: str, quota: Mapping[str, int], totals: Mapping[str, int]) -> Iterator[str]:
    for name, units in totals.items():
        most = quota.get(name)
        if most is not None and units > most:
            yield (
                f"insufficient quota for {name} in queue {queue}: request ({format_amount(units, name)})"
                f" > quota ({format_amount(most, name)})"
            )
