"""What differs, for machines; ``podplan schema show Diff`` has the schema."""

from __future__ import annotations

import json
from typing import Any

from podplan.core.findings import Finding, pointer
from podplan.kinds.t9k.behaviors.change_effects import Effect
from podplan.kubernetes import quantities
from podplan.tools.diff.model import ABSENT, Count, Diff, Difference, JobChange, Queue


def render(diff: Diff) -> str:
    """One object, with ``format: 1``."""
    return json.dumps(as_data(diff), indent=2, ensure_ascii=False) + "\n"


def as_data(diff: Diff) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "format": 1,
        "base": diff.base,
        "head": diff.head,
        "level": diff.level,
        "impact": impact(diff),
        "jobs": [_job(job) for job in diff.jobs],
        "changes": [_change(change) for change in diff.changes],
        "notes": list(diff.notes),
    }


def impact(diff: Diff) -> dict[str, Any]:
    """The impact alone: sums, queues, and how many jobs become what."""
    found = diff.impact
    return {
        "gpus": _count(found.gpus),
        "pods": _count(found.pods),
        "jobs": {
            "created": found.created,
            "changed": found.changed,
            "relabelled": found.relabelled,
            "reRun": found.rerun,
            "removed": found.removed,
            "broken": found.broken,
            "mended": found.mended,
        },
        "queues": [_queue(queue) for queue in found.queues],
    }


def _count(count: Count) -> dict[str, int]:
    return {"before": count.before, "after": count.after}


def _queue(queue: Queue) -> dict[str, Any]:
    return {
        "name": queue.name,
        "resource": queue.resource,
        "before": _units(queue.asked.before),
        "after": _units(queue.asked.after),
        "quota": _quota(queue.quota),
        "quotaBefore": _quota(queue.quota_before),
    }


def _quota(quota: int | None) -> int | float | None:
    return None if quota is None else _units(quota)


def _units(units: int) -> int | float:
    return units // quantities.ONE if quantities.is_whole(units) else units / quantities.ONE


def _job(job: JobChange) -> dict[str, Any]:
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
        "pods": _count(job.pods),
        "gpus": _count(job.gpus),
        "reasons": [_effect(effect) for effect in job.effects],
        "findings": [_finding(found) for found in job.findings],
    }


def _effect(effect: Effect) -> dict[str, Any]:
    fact = effect.fact
    return {"path": pointer(effect.path), "text": fact.text, "basis": fact.basis, "source": fact.source}


def _finding(found: Finding) -> dict[str, Any]:
    where = found.location
    return {"rule": found.rule, "message": found.message, "file": where.file, "line": where.line}


def _change(change: Difference) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": change.kind,
        "part": change.part,
        "path": pointer(change.path),
        "what": "added" if change.before is ABSENT else "removed" if change.after is ABSENT else "changed",
    }
    found |= {"before": change.before} if change.before is not ABSENT else {}
    found |= {"after": change.after} if change.after is not ABSENT else {}
    where = change.place
    return found | {
        "objects": change.objects,
        "roles": list(change.roles),
        "jobs": list(change.jobs),
        "file": where.file if where is not None else None,
        "line": where.line if where is not None else None,
    }
