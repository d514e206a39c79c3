"""The outcome for a job between two revisions, and the effect of applying the change."""

from __future__ import annotations

from typing import Any, NamedTuple

from podplan.core.findings import Path
from podplan.core.structural_diff import ABSENT
from podplan.kinds.change_effects import ChangeEffect, compute_change_effect, iter_changed_paths
from podplan.tools.diff.document_changes import Delta
from podplan.tools.diff.model import Count, JobChange
from podplan.tools.diff.pairing import Pair
from podplan.tools.diff.repository_state import Broken

MAX_FINDINGS = 3  # of a broken job


class Compared(NamedTuple):
    """The result for a pair of jobs: whether the CRs differ, whether anything differs at the requested
    level, and the effect of applying the change; ``through`` are the changed documents that the job refers
    to."""

    of_cr: bool
    is_told: bool
    effect: ChangeEffect | None
    through: tuple[str, ...] = ()


UNCHANGED = Compared(of_cr=False, is_told=False, effect=None)


def outcome(pair: Pair, compared: Compared | None) -> JobChange | None:
    """Return the outcome for a job; None if nothing changes. ``compared`` is None if one side is missing."""
    job = pair.after or pair.before
    assert job is not None
    was = pair.before
    found = JobChange(
        "created",
        job.kind,
        job.namespace,
        job.name,
        job.environment,
        job.variant,
        job.file,
        pods=Count(was.pods if was else 0, pair.after.pods if pair.after else 0),
        gpus=Count(was.gpus if was else 0, pair.after.gpus if pair.after else 0),
        gpu_seconds=_count_gpu_seconds(pair),
        is_job=job.is_job and not job.is_referred_to,
    )
    if pair.after is not None and pair.after.findings:
        if was is not None and was.findings and not (compared and compared.of_cr):
            return None
        return found._replace(what="broken", findings=_few(pair.after.findings))
    if was is None:
        cause = pair.mended
        return found if cause is None else found._replace(what="mended", findings=_few(cause.findings))
    if pair.after is None:
        if pair.wrong is not None:
            return found._replace(what="broken", findings=_few(pair.wrong.findings), file=pair.wrong.file)
        return found._replace(what="removed")
    if was.findings:
        return found._replace(what="mended", findings=_few(was.findings))
    assert compared is not None
    if (was.namespace, was.name) != (job.namespace, job.name):
        old = was.name if was.namespace == job.namespace else f"{was.namespace}/{was.name}"
        return found._replace(what="changed", effect="re-run" if job.is_job else None, was=old)
    if not compared.of_cr and not compared.is_told:
        return None
    found = found._replace(through=compared.through)
    effect = compared.effect if job.is_job else None
    if effect is None:
        return found._replace(what="changed", effect=None if job.is_job else "in-place")
    return found._replace(what="changed", effect=effect.level, effects=effect.decisive_effects)


def _count_gpu_seconds(pair: Pair) -> Count | None:
    sides = [job.gpu_seconds if job is not None else 0 for job in (pair.before, pair.after)]
    known = [seconds for seconds in sides if seconds is not None]
    return Count(*known) if len(known) == len(sides) else None


def effect_of(was: Any, now: Any, deltas: list[Delta]) -> ChangeEffect | None:
    """Return the effect of applying one CR over another; None if they are equal."""
    if not deltas:
        return None
    paths: list[Path] = []
    for delta in deltas:
        path = delta.before_path if delta.after is ABSENT else delta.after_path
        sides = [{} if side is ABSENT else side for side in (delta.before, delta.after)]
        nested = all(isinstance(side, dict) for side in sides)
        below = [(*path, *rest) for rest in iter_changed_paths(*sides)] if nested else []
        paths += below or [path]
    return compute_change_effect(was, now, paths)


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
    """Whether a job is unknown on one side, because it is broken there, so that it counts on neither."""
    faulty = any(job is not None and job.findings for job in (pair.before, pair.after))
    return faulty or pair.wrong is not None or pair.mended is not None
