"""Phrases of a plan that text and Markdown share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from podplan.cluster.amounts import format_amount
from podplan.core.findings import Location
from podplan.core.wording import format_count
from podplan.report.hours import format_hours
from podplan.tools.plan.model import Plan, PlannedJob, QuotaLine
from podplan.workspace.files import relative_to_root

REFUSED = "refused"
VERDICTS = ("admitted", "pending", "inadmissible", "rejected", REFUSED, "ignored", "unknown")


def format_totals(plan: Plan) -> str:
    """Return the totals: "3 jobs: 2 admitted, 1 pending (1 never admitted); 17 Pods, 16 GPUs"."""
    counts: Counter[str] = Counter(map(name_outcome, plan.jobs))
    never = sum(job.never_fits and not job.refused_by for job in plan.jobs)
    notes = {"pending": f" ({never} never admitted)" if never else ""}
    verdicts = ", ".join(f"{counts[name]} {name}{notes.get(name, '')}" for name in VERDICTS if counts[name])
    pods, gpus = sum(job.pods for job in plan.jobs), sum(job.gpus for job in plan.jobs)
    sizes = f"{format_count(pods, 'Pod')}, {format_count(gpus, 'GPU')}"
    text = f"{format_count(len(plan.jobs), 'job')}: {verdicts}; {sizes}"
    hours = sum(count_gpu_hours(job) or 0 for job in plan.jobs)
    return f"{text}, at most {format_hours(hours)} GPU-hours by deadlines" if hours else text


def name_outcome(job: PlannedJob) -> str:
    """Return the verdict of Kueue, or that the webhook or controller of the kind refuses the job."""
    return REFUSED if job.refused_by else job.verdict


def explain(job: PlannedJob) -> str:
    """Return why a job is not admitted; of a refused job, who refuses it and what Kueue does."""
    if job.refused_by:
        kueue = f"Kueue alone: {job.verdict}"
        return f"{job.refused_by} refuses the job; {kueue}" + (
            f", {job.message}" if job.message and job.verdict != "admitted" else ""
        )
    if job.never_fits:
        return f"never admitted: {job.message}"
    return job.message or "" if job.verdict != "admitted" else ""


def format_changes(plan: Plan) -> str:
    """Return what changes: "main → work tree: 1 added, 2 changed, 0 removed"."""
    counts = Counter(job.change for job in select_jobs(plan))
    changes = ", ".join(f"{counts[name]} {name}" for name in ("added", "changed", "removed"))
    return f"{plan.base} → work tree: {changes}"


def select_jobs(plan: Plan) -> list[PlannedJob]:
    """Return the jobs to show: all, or with a base those that change."""
    return [job for job in (*plan.jobs, *plan.removed) if job.change or not plan.base]


def describe_change(job: PlannedJob) -> str:
    """Return what a change does to a job: "changed, was admitted"."""
    if job.change != "changed" or job.base_verdict == job.verdict:
        return job.change
    return f"changed, was {job.base_verdict}"


def count_gpu_hours(job: PlannedJob) -> float | None:
    """Return the maximum GPU-hours of a job; None without GPUs or a deadline."""
    return round(job.gpus * job.seconds / 3600, 2) if job.seconds is not None and job.gpus else None


def name_job(job: PlannedJob) -> str:
    """Return kind, namespace and name of a job, with its variant."""
    name = f"{job.namespace}/{job.name}" if job.namespace else job.name
    return f"{job.kind} {name}" + (f" ({job.variant})" if job.variant else "")


def format_size(job: PlannedJob) -> str:
    """Return Pods and GPUs of a job: "9 Pods, 8 GPUs"."""
    each = f" in {job.workloads} workloads, each decided by itself" if job.workloads > 1 else ""
    return format_amounts(
        format_count(job.pods, "Pod") + each if job.pods else "", job.gpus, count_gpu_hours(job)
    )


def format_amounts(pods: str, gpus: int, hours: float | None) -> str:
    """Return "9 Pods, 8 GPUs, at most 24 GPU-hours", without what is 0 or unknown."""
    parts = [pods] if pods else []
    parts += [format_count(gpus, "GPU")] if gpus else []
    parts += [f"at most {format_hours(hours)} GPU-hours"] if hours else []
    return ", ".join(parts)


def list_flavors(job: PlannedJob) -> list[str]:
    """Return the flavors of each pod set: "worker x 8: cpu from default; nvidia.com/gpu from a100"."""
    lines = []
    for pod_set in job.pod_sets:
        if flavors := join_flavors(sorted(pod_set.flavors.items())):
            size = str(pod_set.size)
            if pod_set.admitted_size != pod_set.size:
                size = f"{pod_set.admitted_size} of {pod_set.size}"
            lines.append(f"{pod_set.name} x {size}: {flavors}")
    return lines


def join_flavors(flavors: Iterable[tuple[str, str]]) -> str:
    """Return "cpu, memory from default; nvidia.com/gpu from a100" for resources and their flavors."""
    by_flavor: dict[str, list[str]] = {}
    for resource, flavor in flavors:
        by_flavor.setdefault(flavor, []).append(resource)
    return "; ".join(f"{', '.join(names)} from {flavor}" for flavor, names in by_flavor.items())


def format_queue(job: PlannedJob) -> str:
    """Return the queue of a job, with the ClusterQueue behind it."""
    if not job.queue:
        return ""
    return f"{job.queue} → {job.cluster_queue}" if job.cluster_queue else job.queue


def format_places(job: PlannedJob) -> str:
    """Return the location of a job, and the location of the object that decides about it."""
    place = job.place
    text = format_place(job)
    if place is None or place == job.location:
        return text
    if job.location is not None and place.file == job.location.file:
        return text if place.line == job.location.line else f"{text}, line {place.line}"
    return ", ".join(part for part in (text, _format_location(place)) if part)


def format_place(job: PlannedJob) -> str:
    """Return the location of a job, "" for a lowered one."""
    return _format_location(job.location) if job.location is not None else ""


def _format_location(location: Location) -> str:
    return f"{relative_to_root(location.file)}:{location.line}"


def format_quota(line: QuotaLine) -> str:
    """Format the requests for a quota: "24 of 16, 32 with borrowing"."""
    requested, nominal, maximum = (
        format_amount(line.resource, amount) for amount in (line.used, line.nominal, line.maximum)
    )
    text = f"{requested} of {nominal}"
    return f"{text}, {maximum} with borrowing" if line.maximum > line.nominal else text


def describe_shortage(line: QuotaLine) -> str:
    """Describe by how much the jobs exceed a quota, "" if they fit."""
    if line.used <= line.nominal:
        return ""
    if line.used <= line.maximum and line.shortage is not None:
        requested, maximum = (
            format_amount(line.resource, amount)
            for amount in (line.shortage.requested, line.shortage.maximum)
        )
        return f"cohort {line.shortage.cohort} has {maximum}, and its queues request {requested}: some wait"
    if line.used <= line.maximum:
        return "fits only by borrowing"
    over = format_amount(line.resource, line.used - line.maximum)
    return f"{line.jobs} jobs together exceed it by {over}: some wait"
