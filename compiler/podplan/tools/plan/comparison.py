"""Comparison of the plans of two revisions."""

from __future__ import annotations

from podplan.tools.plan.model import Plan, PlannedJob


def compare_plans(base: Plan, head: Plan, base_name: str) -> Plan:
    """Return the plan of the head, with the jobs that were added and changed marked, and those removed."""
    before = {_identify(job): job for job in base.jobs}
    present = {_identify(job) for job in head.jobs}
    return head._replace(
        jobs=tuple(_mark(job, before.get(_identify(job))) for job in head.jobs),
        base=base_name,
        removed=tuple(
            job._replace(change="removed", base_verdict=job.verdict)
            for job in base.jobs
            if _identify(job) not in present
        ),
    )


def _mark(job: PlannedJob, before: PlannedJob | None) -> PlannedJob:
    if before is None:
        return job._replace(change="added")
    change = "changed" if _describe(job) != _describe(before) else ""
    return job._replace(change=change, base_verdict=before.verdict)


def _identify(job: PlannedJob) -> tuple[str | None, ...]:
    return job.kind, job.namespace, job.name, job.variant


def _describe(job: PlannedJob) -> tuple[object, ...]:
    decided = job.verdict, job.message, job.queue, job.cluster_queue
    return *decided, job.pod_sets, job.workloads, job.seconds, job.errors
