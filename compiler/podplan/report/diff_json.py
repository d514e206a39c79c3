"""A diff for machines; ``podplan schema show Diff`` prints the schema."""

from __future__ import annotations

import json
from typing import Any

from podplan.core.findings import Finding, to_json_pointer
from podplan.core.structural_diff import ABSENT
from podplan.kinds.change_effects import FieldEffect
from podplan.kubernetes import quantities
from podplan.report.diff_words import split_gpus, split_total_gpus
from podplan.tools.diff.model import Count, Diff, Difference, JobChange, Queue


def render(diff: Diff) -> str:
    """Render one JSON object, with ``format: 1``."""
    return json.dumps(build_document(diff), indent=2, ensure_ascii=False) + "\n"


def build_document(diff: Diff) -> dict[str, Any]:
    """Return the diff as plain data."""
    return {
        "format": 1,
        "base": diff.base,
        "head": diff.head,
        "level": diff.level,
        "impact": build_impact(diff),
        "jobs": [_build_job(job) for job in diff.jobs],
        "changes": [_build_change(change) for change in diff.changes],
        "notes": list(diff.notes),
    }


def build_impact(diff: Diff) -> dict[str, Any]:
    """Return only the impact: sums, queues, and the number of jobs by effect."""
    totals = diff.impact
    return {
        "gpus": _build_count(totals.gpus),
        "gpuChange": _build_gpu_change(split_total_gpus(diff)),
        "pods": _build_count(totals.pods),
        "jobs": {
            "created": totals.created,
            "changed": totals.changed,
            "relabelled": totals.relabelled,
            "reRun": totals.rerun,
            "removed": totals.removed,
            "broken": totals.broken,
            "mended": totals.mended,
        },
        "queues": [_build_queue(queue) for queue in totals.queues],
    }


def _build_count(count: Count) -> dict[str, int]:
    return {"before": count.before, "after": count.after}


def _build_gpu_change(gpus: tuple[int, int]) -> dict[str, int]:
    on_merge, later = gpus
    return {"onMerge": on_merge, "afterRecreation": later}


def _build_queue(queue: Queue) -> dict[str, Any]:
    return {
        "name": queue.name,
        "resource": queue.resource,
        "before": _convert_units(queue.asked.before),
        "after": _convert_units(queue.asked.after),
        "quota": _convert_quota(queue.quota),
        "quotaBefore": _convert_quota(queue.quota_before),
    }


def _convert_quota(quota: int | None) -> int | float | None:
    return None if quota is None else _convert_units(quota)


def _convert_units(units: int) -> int | float:
    return (
        units // quantities.UNITS_PER_ONE if quantities.is_whole(units) else units / quantities.UNITS_PER_ONE
    )


def _build_job(job: JobChange) -> dict[str, Any]:
    return {
        "what": job.what,
        "effect": job.effect,
        "kind": job.kind,
        "namespace": job.namespace or None,
        "name": job.name,
        "was": job.was or None,
        "environment": job.environment or None,
        "variant": job.variant or None,
        "file": job.file,
        "isJob": job.is_job,
        "pods": _build_count(job.pods),
        "gpus": _build_count(job.gpus),
        "gpuChange": _build_gpu_change(split_gpus(job)),
        "gpuHours": _build_hours(job.gpu_seconds),
        "reasons": [_build_effect(effect) for effect in job.effects],
        "findings": [_build_finding(found) for found in job.findings],
        **({"through": list(job.through)} if job.through else {}),
    }


def _build_hours(gpu_seconds: Count | None) -> dict[str, float] | None:
    if gpu_seconds is None:
        return None
    return {"before": gpu_seconds.before / 3600, "after": gpu_seconds.after / 3600}


def _build_effect(effect: FieldEffect) -> dict[str, Any]:
    behavior = effect.behavior
    return {
        "path": to_json_pointer(effect.path),
        "text": behavior.text,
        "basis": behavior.basis,
        "source": behavior.source,
    }


def _build_finding(finding: Finding) -> dict[str, Any]:
    location = finding.location
    return {"rule": finding.rule, "message": finding.message, "file": location.file, "line": location.line}


def _build_change(change: Difference) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "kind": change.kind,
        "part": change.part,
        "path": to_json_pointer(change.path),
        "what": "added" if change.before is ABSENT else "removed" if change.after is ABSENT else "changed",
    }
    entry |= {"before": change.before} if change.before is not ABSENT else {}
    entry |= {"after": change.after} if change.after is not ABSENT else {}
    location = change.place
    return entry | {
        "objects": change.objects,
        "roles": list(change.roles),
        "jobs": list(change.jobs),
        "file": location.file if location is not None else None,
        "line": location.line if location is not None else None,
    }
