"""Jobs of two versions of one kind, which no cluster serves together.

Source: docs/evidence/mpi-operator.md#two-versions-of-one-kind.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from podplan.core.typing import NamedTuple
from podplan.kinds.registry import PACKAGES, find_kind
from podplan.kubernetes.accessors import get_text
from podplan.lint.analysis.cross_job import RebuildJob
from podplan.lint.analysis.jobs import get_job_label
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Violation


class VersionSummary(NamedTuple):
    """The kind of a job without its version, and its apiVersion."""

    group: str
    kind: str
    api_version: str

    @property
    def keys(self) -> list[Hashable]:
        return [(self.group, self.kind)]

    @property
    def owner(self) -> Hashable:
        return self.api_version


def summarize_version(job: LoweredJob) -> VersionSummary | None:
    """The version of a job; None for a kind that has one version only."""
    if job.cr is None:
        return None
    kind = find_kind(job.cr.data.get("apiVersion"), job.cr.data.get("kind"))
    if kind is None:
        return None
    versions = {known.version for known in PACKAGES if (known.group, known.kind) == (kind.group, kind.kind)}
    return VersionSummary(kind.group, kind.kind, kind.api_version) if len(versions) > 1 else None


@check(summarize=summarize_version)
def other_version_of_kind(
    summaries: Mapping[int, VersionSummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A job of another version than the first one of its kind.

    Values: ``kind``, ``version``, ``other``, ``job``.
    """
    first_numbers: dict[tuple[str, str], int] = {}
    for number, summary in summaries.items():
        first_number = first_numbers.setdefault((summary.group, summary.kind), number)
        first = summaries[first_number]
        if first.api_version == summary.api_version:
            continue
        other = rebuild_job(first_number)
        if other.cr is None:
            continue
        label = get_text(other.cr.data["metadata"], "name") or get_job_label(other)
        values = {
            "kind": summary.kind,
            "version": summary.api_version,
            "other": first.api_version,
            "job": label,
        }
        related = [(other.cr, ("apiVersion",), first.api_version)]
        yield number, Violation(("apiVersion",), values, related)
