"""What becomes of a job between two trees, and what applying the change does."""

from __future__ import annotations

from typing import Any

from podplan.diff.impact import size
from podplan.diff.model import ABSENT, Count, JobChange
from podplan.diff.pairing import Pair
from podplan.diff.trees import Broken
from podplan.diff.values import Delta
from podplan.facts.changes import Change, differing, what_happens
from podplan.findings import Path

MAX_FINDINGS = 3  # of a broken job


def outcome(pair: Pair, of_cr: list[Delta] | None, is_told: bool) -> JobChange | None:
    """What becomes of a job; None where nothing does.

    ``of_cr`` is what differs in its CR, None where it is only on one side; ``is_told`` says whether anything
    differs at the level that was asked for.
    """
    job = pair.after or pair.before
    assert job is not None
    sizes = zip(size(pair.before), size(pair.after), strict=True)
    pods, gpus = (Count(*counts) for counts in sizes)
    found = JobChange(
        "created",
        job.kind,
        job.namespace,
        job.name,
        job.environment,
        job.variant,
        job.file,
        pods=pods,
        gpus=gpus,
        is_job=job.is_job,
    )
    if pair.after is not None and pair.after.findings:
        was_broken = pair.before is not None and pair.before.findings
        if was_broken and not of_cr:
            return None
        return found._replace(what="broken", findings=_few(pair.after.findings))
    if pair.before is None:
        cause = pair.mended
        return found if cause is None else found._replace(what="mended", findings=_few(cause.findings))
    if pair.after is None:
        if pair.wrong is not None:
            return found._replace(what="broken", findings=_few(pair.wrong.findings), file=pair.wrong.file)
        return found._replace(what="removed")
    if pair.before.findings:
        return found._replace(what="mended", findings=_few(pair.before.findings))
    assert of_cr is not None
    was = pair.before
    if (was.namespace, was.name) != (job.namespace, job.name):
        old = was.name if was.namespace == job.namespace else f"{was.namespace}/{was.name}"
        return found._replace(what="changed", effect="re-run" if job.is_job else None, was=old)
    if not of_cr and not is_told:
        return None
    effect = _effect(was.cr.data, job.cr.data, of_cr) if job.is_job and of_cr else None
    if effect is None:
        return found._replace(what="changed", effect=None if job.is_job else "in-place")
    return found._replace(what="changed", effect=effect.how, effects=effect.decisive)


def _effect(was: Any, now: Any, deltas: list[Delta]) -> Change:
    paths: list[Path] = []
    for delta in deltas:
        path = delta.before_path if delta.after is ABSENT else delta.after_path
        sides = [{} if side is ABSENT else side for side in (delta.before, delta.after)]
        nested = all(isinstance(side, dict) for side in sides)
        below = list(differing(sides[0], sides[1], path)) if nested else []
        paths += below or [path]
    return what_happens(was, now, paths)


def of_broken(one: Broken, what: Any) -> JobChange:
    name = one.origin or one.file
    under = one.environments[0] if one.environments and len(one.environments) == 1 else ""
    variant = one.variants[0] if one.variants else ""
    is_job = one.kind != "file" and not one.is_shared
    return JobChange(
        what,
        one.kind,
        one.namespace,
        name,
        under,
        variant,
        one.file,
        findings=_few(one.findings),
        is_job=is_job,
    )


def _few(findings: tuple[Any, ...]) -> tuple[Any, ...]:
    return findings[:MAX_FINDINGS]


def is_unknown(pair: Pair) -> bool:
    """Whether nobody knows what a job comes to on one side, so that it counts on neither."""
    faulty = any(job is not None and job.findings for job in (pair.before, pair.after))
    return faulty or pair.wrong is not None or pair.mended is not None
