"""Verdicts by the queues of a ClusterInventory, for jobs whose gang names a queue."""

from __future__ import annotations

from podplan.cluster.admission import PlannedPodSet, Verdict
from podplan.core.provenance import root_cursor
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.analysis.inventory import get_entry, get_section, is_available_in
from podplan.lint.analysis.jobs import find_pod_group, namespace_of, queue_of
from podplan.lint.analysis.resources import format_amount, get_effective_request, list_resources
from podplan.lint.target import LoweredJob
from podplan.pipeline import JobPlan


def decide_by_inventory(plan: JobPlan) -> Verdict:
    """Decide about a job whose kind Kueue does not know: the quota of the queue of its gang."""
    if not plan.is_lowered:
        return Verdict("unknown", "the Pods of this job are not known")
    job = LoweredJob(plan.cr, plan.replica_groups, inventory=plan.inventory)
    gang = find_pod_group(job)
    if gang is None:
        return Verdict("ignored", "the job names no queue, and Kueue does not manage its kind")
    queue = queue_of(gang)
    totals: dict[str, int] = {}
    pod_sets = []
    for group in job.pods:
        requests = {name: get_effective_request(group, name) for name in list_resources(group)}
        for name, units in requests.items():
            totals[name] = totals.get(name, 0) + units * group.replicas
        shown = {name: format_amount(units, name) for name, units in requests.items() if units}
        pod_sets.append(PlannedPodSet(group.replica_type, group.replicas, shown, {}, 0))
    verdict = Verdict("unknown", "no ClusterInventory states this queue", queue, pod_sets=tuple(pod_sets))
    queues = get_section(job, "queues")
    if not queues:
        return verdict
    place = root_cursor(gang.doc).get("spec", "queue")
    if queue not in queues:
        message = f"queue {queue} is not in the inventory"
        return verdict._replace(name="inadmissible", message=message, place=place)
    entry = get_entry(job, "queues", queue)
    if not is_available_in(entry, namespace_of(job)):
        message = f"queue {queue} is not for the namespace {namespace_of(job)}"
        return verdict._replace(name="inadmissible", message=message, place=place)
    quota = {name: quantities.parse_quantity(value) for name, value in get_mapping(entry, "quota").items()}
    over = [
        f"insufficient quota for {name} in queue {queue}: request ({format_amount(units, name)})"
        f" > quota ({format_amount(most, name)})"
        for name, units in totals.items()
        if (most := quota.get(name)) is not None and units > most
    ]
    if over:
        return verdict._replace(name="pending", message=", ".join(over), place=place)
    if not quota:
        return verdict._replace(message=f"the inventory states no quota of queue {queue}")
    return verdict._replace(name="admitted", message="the quota of the queue suffices")
