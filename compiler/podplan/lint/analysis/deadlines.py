"""After how many seconds a job ends, or the Job that creates its Pods, and where that is written.

Sources: docs/evidence/jobset.md#end-of-a-job, docs/evidence/trainer.md#status.
"""

from __future__ import annotations

from podplan.core.findings import Path, value_at
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.lint.analysis.jobs import find_kind_spec, find_written_path, has_trait
from podplan.lint.analysis.pod_jobs import find_pod_jobs
from podplan.lint.target import LoweredJob

_FIELD = "activeDeadlineSeconds"


class Deadline(NamedTuple):
    """``seconds`` as written at ``path`` of ``doc``."""

    seconds: Any
    doc: TracedDocument
    path: Path


def find_job_deadline(job: LoweredJob) -> Deadline | None:
    """The deadline that the CR states for the whole job."""
    path = (*_find_policy_path(job), _FIELD)
    seconds = value_at(job.cr.data, path) if job.cr is not None else None
    return Deadline(seconds, job.cr, path) if job.cr is not None and seconds is not None else None


def list_deadlines(job: LoweredJob, group: ReplicaGroup) -> list[Deadline]:
    """The deadlines that end the Pods of a group with their job: its own, and that of their Job."""
    own, pod_jobs = find_job_deadline(job), find_pod_jobs(job, group)
    found = [own] if own is not None else []
    if pod_jobs is not None and pod_jobs.doc is not job.cr:
        seconds = value_at(pod_jobs.doc.data, ("spec", _FIELD))
        found += [Deadline(seconds, pod_jobs.doc, ("spec", _FIELD))] if seconds is not None else []
    return found


def find_zero_deadline(job: LoweredJob) -> Deadline | None:
    """The deadline of 0 of a job, or of one of its Jobs, which then creates no Pod.

    A negative deadline has passed from the start, too, where the API server accepts it. Source:
    docs/evidence/training-operator.md#end-of-a-job.
    """
    path: Path = ("spec", _FIELD)
    docs = [group.doc for group in job.groups if group.doc.data.get("kind") == "Job"]
    own = find_job_deadline(job)
    found = [own] if own is not None else []
    found += [Deadline(value_at(doc.data, path), doc, path) for doc in docs]
    is_negative_accepted = has_trait(job, "negative-retries-fail")
    return next(
        (
            one
            for one in found
            if isinstance(one.seconds, int)
            and not isinstance(one.seconds, bool)
            and (one.seconds == 0 or (is_negative_accepted and one.seconds < 0))
        ),
        None,
    )


def locate_missing_deadline(job: LoweredJob, group: ReplicaGroup) -> tuple[TracedDocument | None, Path]:
    """Where a deadline for a group belongs: in the CR, or in the Job of a CR with several."""
    pod_jobs = find_pod_jobs(job, group)
    if pod_jobs is not None and has_trait(job, "deadline-by-job"):
        return pod_jobs.doc, ("spec",)
    data = job.cr.data if job.cr is not None else {}
    return job.cr, find_written_path(data, *_find_policy_path(job))


def _find_policy_path(job: LoweredJob) -> Path:
    kind_spec = find_kind_spec(job)
    return (kind_spec.run_policy_path if kind_spec is not None else ()) or ("spec", "runPolicy")
