"""The jobs of a run, for checks that compare jobs.

A lowered job takes a hundred times the memory of what other jobs need to know about it. So each job is
reduced to summaries and released; the few jobs with findings are rebuilt. Summaries are packed, and only
those of jobs that share a key are unpacked.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Collection, Hashable, Iterable, Iterator

from podplan.checker.packed_store import CheckColumn, JobSource, JobSummary, PackedSummaries
from podplan.checker.rebuild import JobRebuilder
from podplan.core.findings import Diagnostic
from podplan.core.limits import LimitExceeded
from podplan.core.typing import Any, NamedTuple
from podplan.lint.checks import summarize_job
from podplan.lint.policy import Policy
from podplan.lint.policy_runner import apply_cross_job_policies, is_cross_job_policy
from podplan.lint.target import LoweredJob
from podplan.workspace.files import find_git_top

KEY_PARTITIONS = (
    16  # all keys at once, as Python objects, would take much of the memory of a run with thousands of jobs
)


class SharedKeys:
    """Finds the keys that several owners have, storing only a hash of each key and owner."""

    def __init__(self) -> None:
        self._keys, self._owners = array("q"), array("q")

    def add_keys(self, owner: Hashable, keys: Collection[int]) -> None:
        """Add keys of an owner."""
        self._keys.extend(keys)
        self._owners.extend([hash(owner)] * len(keys))

    def extend(self, other: SharedKeys) -> None:
        """Add the keys of other jobs."""
        self._keys.extend(other._keys)
        self._owners.extend(other._owners)

    def find_shared(self) -> set[int]:
        """Return the keys that more than one owner has."""
        shared: set[int] = set()
        for partition in range(KEY_PARTITIONS):
            first_owners: dict[int, int] = {}
            for key, owner in zip(self._keys, self._owners, strict=True):
                if key % KEY_PARTITIONS == partition and first_owners.setdefault(key, owner) != owner:
                    shared.add(key)
        return shared


class ExportedSummaries(NamedTuple):
    """The summaries of jobs, as plain data, and the limits that the first of them exceeded."""

    job_summaries: PackedSummaries
    shared_keys: SharedKeys
    exceeded: tuple[tuple[str, str], ...] = ()


class CrossJobIndex:
    """The jobs so far, and the findings of cross-job checks; ``policies`` are all that may be evaluated."""

    def __init__(self, policies: Iterable[Policy], rebuilder: JobRebuilder) -> None:
        self._checks = tuple(dict.fromkeys(policy.body for policy in policies if is_cross_job_policy(policy)))
        self._rebuilder = rebuilder
        self._first_job: tuple[LoweredJob, JobSource | None] | None = None
        self._unseen = 0  # jobs without a summary
        self._job_summaries = PackedSummaries()
        self._kept_jobs: dict[int, LoweredJob] = {}
        self._shared_keys = SharedKeys()
        self._repository_by_folder: dict[str, str] = {}
        self.exceeded: list[tuple[str, str]] = []  # file and message

    def __len__(self) -> int:
        return len(self._job_summaries) + (self._first_job is not None) + self._unseen

    def add_job(self, job: LoweredJob, job_source: JobSource | None) -> None:
        """Add a job; one without a source is kept completely.

        The first is summarized only when a second one follows.
        """
        if not self._checks:
            self._unseen += 1
        elif not len(self):
            self._first_job = job, job_source
        else:
            self.flush_first_job()
            self._summarize(job, job_source)

    def flush_first_job(self) -> None:
        """Summarize the first job, because there are others.

        A limit that it exceeds is attributed to it, and not to the job that is being added.
        """
        if self._first_job is not None:
            (job, origin), self._first_job = self._first_job, None
            try:
                self._summarize(job, origin)
            except LimitExceeded as error:
                file = origin.file if origin is not None else ""
                self.exceeded.append((file, str(error.with_file(file))))

    def export_summaries(self) -> ExportedSummaries:
        """Return the summaries of the jobs so far, to be merged into another index."""
        self.flush_first_job()
        return ExportedSummaries(self._job_summaries, self._shared_keys, tuple(self.exceeded))

    def merge_summaries(self, exported: ExportedSummaries) -> None:
        """Merge the summaries of the jobs that follow."""
        self.flush_first_job()
        self._job_summaries.extend(exported.job_summaries)
        self._shared_keys.extend(exported.shared_keys)
        self.exceeded += exported.exceeded

    def _summarize(self, job: LoweredJob, job_source: JobSource | None) -> None:
        job_summary = JobSummary(job_source, tuple(summarize_job(check, job) for check in self._checks))
        if job_source is None:
            self._kept_jobs[len(self._job_summaries)] = job
        repository = self._find_repository(job_source)
        for column, check_summary in enumerate(job_summary.check_summaries):
            if check_summary is not None:
                self._shared_keys.add_keys(check_summary.owner, _hash_keys(column, check_summary, repository))
        self._job_summaries.append(job_summary)

    def get_job(self, job_number: int) -> LoweredJob:
        """Return the job with this number, in the order in which jobs were added."""
        kept_job = self._kept_jobs.get(job_number)
        if kept_job is not None:
            return kept_job
        job_source = self._job_summaries[job_number].job_source
        assert job_source is not None
        return self._rebuilder.get_job(job_source)

    def get_file(self, job_number: int) -> str:
        """Return the file of a job, "" if it is unknown."""
        job_source = self._job_summaries[job_number].job_source
        return job_source.file if job_source is not None else ""

    def _find_repository(self, job_source: JobSource | None) -> str:
        """Return the top of the git repository of a job, or ""."""
        folder = os.path.dirname(job_source.file) if job_source is not None else None
        if folder is None:
            return ""
        if folder not in self._repository_by_folder:
            self._repository_by_folder[folder] = find_git_top(folder or ".")
        return self._repository_by_folder[folder]

    def iter_diagnostics(self, policies: Iterable[Policy]) -> Iterator[tuple[int, Diagnostic]]:
        """Yield the diagnostics of cross-job policies, each with the number of its job; none for a single
        job.

        The jobs of each repository are compared separately: a nested worktree has the same jobs at another
        revision, and a submodule has its own jobs.
        """
        if self._first_job is not None or not self._checks:
            return
        by_repository: dict[str, list[CheckColumn]] = {}
        shared = self._shared_keys.find_shared()
        for job_number, job_summary in enumerate(self._job_summaries) if shared else ():
            repository = self._find_repository(job_summary.job_source)
            for column, check_summary in enumerate(job_summary.check_summaries):
                if check_summary is not None and not shared.isdisjoint(
                    _hash_keys(column, check_summary, repository)
                ):
                    if repository not in by_repository:
                        by_repository[repository] = [
                            CheckColumn(self._job_summaries, at) for at in range(len(self._checks))
                        ]
                    by_repository[repository][column].add_job(job_number)
        policies = tuple(policies)
        for check_columns in by_repository.values():
            yield from apply_cross_job_policies(
                policies, dict(zip(self._checks, check_columns, strict=True)), self.get_job
            )


def _hash_keys(column: int, check_summary: Any, repository: str) -> list[int]:
    """Return the keys of the summary of a job for a check, each as a number."""
    return [hash((column, repository, key)) for key in check_summary.keys]
