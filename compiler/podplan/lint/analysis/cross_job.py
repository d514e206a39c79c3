"""Common parts of cross-job checks.

Such a check is called once. It gets the summaries of the jobs, plain data by the number of the job, and
rebuilds the few jobs that it reports or points at.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from posixpath import dirname

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument, trace_to_source
from podplan.lint.analysis.jobs import JobIdentity, JobNameSummary, find_written_path, get_job_label
from podplan.lint.target import LoweredJob

# A job by its number.
RebuildJob = Callable[[int], LoweredJob]

NAME_PATH: Path = ("metadata", "name")
# As many others are pointed at.
MAX_RELATED_JOBS = 3


class SharingJobs:
    """Jobs that share a key, in their order."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._names: dict[str, None] = {}
        self._first: dict[JobIdentity, tuple[int, int]] = {}

    def add(self, number: int, job: JobNameSummary) -> None:
        """Add a job."""
        self._first.setdefault(job.identity, (len(self._numbers), len(self._names)))
        self._numbers.append(number)
        self._names[job.job_label] = None

    def find_earlier_jobs(self, job: JobNameSummary) -> tuple[list[int], list[str]]:
        """Return jobs of other documents before the first variant: some numbers, all names."""
        numbers, names = self._first[job.identity]
        return self._numbers[: min(numbers, MAX_RELATED_JOBS)], list(islice(self._names, names))


def are_alternatives(file: str, other: str) -> bool:
    """Whether two files are the same in two trees, such as gke/jobs/bert.yaml and eks/jobs/bert.yaml.

    The trees are for two clusters, or versions of one. Two folders beside each other that have the files
    themselves may be jobs of one cluster.
    """
    steps, other_steps = file.split("/"), other.split("/")
    has_same_end = steps[-2:] == other_steps[-2:]
    return has_same_end and len(steps) == len(other_steps) and steps != other_steps


def get_name_place(job: LoweredJob) -> tuple[TracedDocument, Path, str]:
    """Return where the name of a job is written, as a related location."""
    assert job.cr is not None
    return job.cr, find_written_path(job.cr.data, *NAME_PATH), get_job_label(job)


def find_written_file(doc: TracedDocument) -> str:
    """The file in which a document, or the profile that it was compiled from, is written."""
    source = trace_to_source(doc, find_written_path(doc.data, *NAME_PATH))[-1].doc.source
    return source.file if source is not None else ""


def find_common_place(doc: TracedDocument, namespace: str) -> tuple[str, str]:
    """What objects of one namespace have in common: it, or where none is written, the folder of the file."""
    return namespace, "" if namespace else dirname(find_written_file(doc))
