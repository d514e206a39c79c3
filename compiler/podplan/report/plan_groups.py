"""Jobs of a plan that are alike, as one entry of text and Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from podplan.core.wording import format_count
from podplan.report import plan_words as words
from podplan.tools.plan.model import PlannedJob

MIN_GROUPED = 4


def group_jobs(jobs: Sequence[PlannedJob]) -> list[list[PlannedJob]]:
    """Return the jobs in their order, in groups of one or of at least ``MIN_GROUPED`` that are alike.

    Jobs are alike if they differ only in name, kind, place and size.
    """
    keyed = [(_build_key(job), job) for job in jobs]
    groups: dict[Hashable, list[PlannedJob]] = {}
    for key, job in keyed:
        groups.setdefault(key, []).append(job)
    entries: list[list[PlannedJob]] = []
    for key, job in keyed:
        if len(groups[key]) < MIN_GROUPED:
            entries.append([job])
        elif groups[key][0] is job:
            entries.append(groups[key])
    return entries


def _build_key(job: PlannedJob) -> Hashable:
    return (
        words.name_outcome(job),
        words.describe_change(job),
        words.format_queue(job),
        words.explain(job),
        job.errors,
        frozenset(_iter_flavors([job])),
        all(one.admitted_size == one.size for one in job.pod_sets),
    )


def name_jobs(jobs: Sequence[PlannedJob]) -> str:
    """Return the name of a job, or of several their kinds: "2 × Job, 63 × Pod"."""
    if len(jobs) == 1:
        return words.name_job(jobs[0])
    kinds = Counter(job.kind for job in jobs)
    return ", ".join(f"{kinds[kind]} × {kind}" for kind in sorted(kinds))


def format_size(jobs: Sequence[PlannedJob]) -> str:
    """Return Pods and GPUs of all jobs: "65 Pods, 34 GPUs"."""
    if len(jobs) == 1:
        return words.format_size(jobs[0])
    pods, gpus = sum(job.pods for job in jobs), sum(job.gpus for job in jobs)
    hours = sum(words.count_gpu_hours(job) or 0 for job in jobs)
    return words.format_amounts(format_count(pods, "Pod") if pods else "", gpus, hours)


def list_flavors(jobs: Sequence[PlannedJob]) -> list[str]:
    """Return the flavors of each pod set of a job, or those of all jobs: "cpu from default"."""
    if len(jobs) == 1:
        return words.list_flavors(jobs[0])
    text = words.join_flavors(sorted(set(_iter_flavors(jobs))))
    return [text] if text else []


def format_places(jobs: Sequence[PlannedJob], hint: str = "") -> str:
    """Return the places of a job; of several, that of the first and the number of the others."""
    if len(jobs) == 1:
        return words.format_places(jobs[0])
    return f"{words.format_place(jobs[0])} and {len(jobs) - 1} more{hint}"


def _iter_flavors(jobs: Iterable[PlannedJob]) -> Iterable[tuple[str, str]]:
    return (item for job in jobs for one in job.pod_sets for item in one.flavors.items())
