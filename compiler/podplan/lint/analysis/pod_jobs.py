"""The Jobs that create the Pods of a job: how many Pods each runs at a time, and in all.

Source: docs/evidence/jobset.md#pods-of-a-job.
"""

from __future__ import annotations

from podplan.core.provenance import Path, TracedDocument, root_cursor
from podplan.core.replica_groups import ReplicaGroup, find_name_text
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.target import LoweredJob

_JOB_LABEL = "batch.kubernetes.io/job-name"


class PodJobs(NamedTuple):
    """The Jobs of a group of Pods: ``jobs`` of them, each with ``parallelism`` Pods at a time and
    ``completions`` in all, of which ``doc`` is the first."""

    doc: TracedDocument
    jobs: int
    parallelism: int
    completions: int
    is_indexed: bool

    @property
    def runs_in_turns(self) -> bool:
        """Whether some Pods start only after others have ended."""
        return self.completions > self.parallelism

    @property
    def count_path(self) -> Path:
        """Where the number of Pods at a time is written: no more run than are to complete."""
        spec = get_mapping(self.doc.data, "spec")
        names = ("parallelism", "completions")
        if "parallelism" not in spec or spec.get("parallelism") != self.parallelism:
            names = ("completions", "parallelism")
        return ("spec", next((name for name in names if name in spec), "template"))


def find_pod_jobs(job: LoweredJob, group: ReplicaGroup) -> PodJobs | None:
    """The Jobs that create the Pods of a group; None for Pods that a controller creates without a Job."""
    metadata = get_mapping(group.doc.data, "metadata")
    name = get_text(get_mapping(metadata, "labels"), _JOB_LABEL)
    if not name:
        return None
    owners = [one for one in job.groups if _has_template(one.doc) and _find_first_name(one) == name]
    if owners:
        return _read_jobs(owners[0].doc, owners[0].replicas)
    return _read_jobs(job.cr, 1) if job.cr is not None and _has_template(job.cr) else None


def _read_jobs(doc: TracedDocument, jobs: int) -> PodJobs:
    from podplan.kinds.batch.pods import count_active_pods, is_indexed

    cursor = root_cursor(doc)
    parallelism, completions = count_active_pods(cursor), cursor.get("spec", "completions").value
    in_all = parallelism if completions is None else int(completions)
    return PodJobs(doc, jobs, parallelism, in_all, is_indexed(cursor))


def _has_template(doc: TracedDocument) -> bool:
    return "template" in get_mapping(doc.data, "spec")


def _find_first_name(group: ReplicaGroup) -> str:
    text = find_name_text(group.doc)
    return str(
        text.text_at(group.start) if text is not None else get_text(group.doc.data["metadata"], "name")
    )
