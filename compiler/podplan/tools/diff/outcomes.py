"""The outcome for a job between two revisions, and the effect of applying the change."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from podplan.core.findings import Path
from podplan.core.structural_diff import ABSENT
from podplan.kinds.change_effects import ChangeEffect, compute_change_effect, iter_changed_paths
from podplan.tools.diff.document_changes import Delta
from podplan.tools.diff.job_facts import BrokenSource
from podplan.tools.diff.model import Count, JobChange
from podplan.tools.diff.pairing import Pair, has_new_error

MAX_FINDINGS = 3  # of a broken job


class PairResult(NamedTuple):
    """The result for a pair of jobs: whether the CRs differ, whether anything differs at the requested
    level, and the effect of applying the change; ``through`` are the changed documents that the job refers
    to. ``gpus_on_merge`` are those that a job which needs re-creation gets before that, ``kept_variables``
    the names of those that differ between Pods that stay and those that the change adds."""

    is_cr_changed: bool
    is_reported: bool
    effect: ChangeEffect | None
    through: tuple[str, ...] = ()
    gpus_on_merge: int = 0
    kept_variables: tuple[str, ...] = ()


UNCHANGED = PairResult(is_cr_changed=False, is_reported=False, effect=None)


def decide_outcome(pair: Pair, result: PairResult | None) -> JobChange | None:
    """Return the outcome for a job; None if nothing changes. ``result`` is None if one side is missing."""
    job = pair.after or pair.before
    assert job is not None
    before = pair.before
    change = JobChange(
        "created",
        job.kind,
        job.namespace,
        job.name,
        job.environment,
        job.variant,
        job.file,
        pods=Count(before.pods if before else 0, pair.after.pods if pair.after else 0),
        gpus=Count(before.gpus if before else 0, pair.after.gpus if pair.after else 0),
        gpu_seconds=_count_gpu_seconds(pair),
        is_job=job.is_job and not job.is_referred_to,
    )
    if pair.after is not None and pair.after.findings:
        if before is not None and before.findings and not has_new_error(before.findings, pair.after.findings):
            return None
        return change._replace(what="broken", findings=_limit_findings(pair.after.findings))
    if before is None:
        cause = pair.mended
        return (
            change
            if cause is None
            else change._replace(what="mended", findings=_limit_findings(cause.findings))
        )
    if pair.after is None:
        if pair.fault is not None:
            return change._replace(
                what="broken", findings=_limit_findings(pair.fault.findings), file=pair.fault.file
            )
        return change._replace(what="removed")
    if before.findings:
        return change._replace(what="mended", findings=_limit_findings(before.findings))
    assert result is not None
    if (before.namespace, before.name) != (job.namespace, job.name):
        old = before.name if before.namespace == job.namespace else f"{before.namespace}/{before.name}"
        return change._replace(what="changed", effect="re-run" if job.is_job else None, was=old)
    if not result.is_cr_changed and not result.is_reported:
        return None
    change = change._replace(
        through=result.through,
        gpus_on_merge=result.gpus_on_merge,
        kept_variables=result.kept_variables,
    )
    effect = result.effect if job.is_job else None
    if effect is None:
        return change._replace(what="changed", effect=None if job.is_job else "in-place")
    return change._replace(what="changed", effect=effect.level, effects=effect.decisive_effects)


def _count_gpu_seconds(pair: Pair) -> Count | None:
    sides = [job.gpu_seconds if job is not None else 0 for job in (pair.before, pair.after)]
    known = [seconds for seconds in sides if seconds is not None]
    return Count(*known) if len(known) == len(sides) else None


def compute_effect(before: Any, after: Any, deltas: list[Delta]) -> ChangeEffect | None:
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
    return compute_change_effect(before, after, paths)


def takes_over_replicas(effect: ChangeEffect) -> bool:
    """Whether the controller of a job that needs re-creation takes over a number of replicas before that."""
    return effect.level == "re-run" and any(
        one.level == "in-place" and one.path[-1:] == ("replicas",) for one in effect.field_effects
    )


def keeps_pods(effect: ChangeEffect) -> bool:
    """Whether the Pods of a job stay while its controller adds or deletes others."""
    return any(one.keeps_pods for one in effect.field_effects)


def build_broken_change(source: BrokenSource, what: Literal["broken", "mended"]) -> JobChange:
    environments = source.environments or ()
    return JobChange(
        what,
        source.kind,
        source.namespace,
        source.origin or source.file,
        environments[0] if len(environments) == 1 else "",
        source.variants[0] if source.variants else "",
        source.file,
        findings=_limit_findings(source.findings),
        is_job=source.kind != "file" and not source.is_shared,
    )


def _limit_findings(findings: tuple[Any, ...]) -> tuple[Any, ...]:
    return findings[:MAX_FINDINGS]


def is_unknown(pair: Pair) -> bool:
    """Whether a job is unknown on one side, because it is broken there, so that it counts on neither."""
    faulty = any(job is not None and job.findings for job in (pair.before, pair.after))
    return faulty or pair.fault is not None or pair.mended is not None
