"""A plan for machines."""

from __future__ import annotations

import json
from typing import Any

from podplan.cluster.amounts import format_amount
from podplan.core.findings import Location
from podplan.tools.plan.model import Plan, PlannedJob, QuotaLine


def render(plan: Plan) -> str:
    """Render one JSON object, with ``format: 1``."""
    return json.dumps(build_document(plan), indent=2, ensure_ascii=False) + "\n"


def build_document(plan: Plan) -> dict[str, Any]:
    """Return the plan as plain data."""
    return {
        "format": 1,
        **({"base": plan.base} if plan.base else {}),
        "jobs": [_build_job(job, bool(plan.base)) for job in (*plan.jobs, *plan.removed)],
        "quotas": [_build_quota(line) for line in plan.quotas],
    }


def _build_job(job: PlannedJob, is_compared: bool) -> dict[str, Any]:
    return {
        "kind": job.kind,
        "name": job.name,
        "namespace": job.namespace,
        "variant": job.variant,
        "queue": job.queue,
        "clusterQueue": job.cluster_queue,
        "verdict": job.verdict,
        "message": job.message,
        "errors": list(job.errors),
        **({"neverFits": job.never_fits} if job.verdict == "pending" else {}),
        **({"refusedBy": job.refused_by} if job.refused_by else {}),
        **({"workloads": job.workloads} if job.workloads > 1 else {}),
        "pods": job.pods,
        "gpus": job.gpus,
        "gpuHours": round(job.gpus * job.seconds / 3600, 2) if job.seconds is not None else None,
        "location": _build_location(job.location),
        "place": _build_location(job.place),
        **({"change": job.change or None, "baseVerdict": job.base_verdict} if is_compared else {}),
        "podSets": [
            {
                "name": one.name,
                "count": one.size,
                "admittedCount": one.admitted_size,
                "requests": dict(one.requests),
                "flavors": dict(sorted(one.flavors.items())),
            }
            for one in job.pod_sets
        ],
    }


def _build_quota(line: QuotaLine) -> dict[str, Any]:
    amounts = {"requested": line.used, "nominal": line.nominal, "maximum": line.maximum}
    short = line.shortage
    cohort = {}
    if short is not None:
        requested, maximum = (format_amount(line.resource, one) for one in (short.requested, short.maximum))
        cohort = {"shortage": {"cohort": short.cohort, "requested": requested, "maximum": maximum}}
    return {
        "clusterQueue": line.queue,
        "flavor": line.flavor,
        "resource": line.resource,
        "jobs": line.jobs,
        **{name: format_amount(line.resource, amount) for name, amount in amounts.items()},
        **cohort,
    }


def _build_location(location: Location | None) -> dict[str, Any] | None:
    return None if location is None else {"file": location.file, "line": location.line}
