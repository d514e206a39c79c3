"""The order in which Argo CD applies a job and the objects that it needs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache

from podplan.core.provenance import TracedDocument
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.cross_job import RebuildJob, get_name_place
from podplan.lint.analysis.gitops import (
    WAVE_ANNOTATION,
    find_hook_phases,
    get_annotation_path,
    get_annotations,
    parse_sync_wave,
)
from podplan.lint.analysis.jobs import namespace_of
from podplan.lint.checks.claims import find_claim_users
from podplan.lint.checks.references import iter_references
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Violation


class ObjectId(NamedTuple):
    """An object by its kind, namespace and name."""

    kind: str
    namespace: str
    name: str


# Most jobs need the same few objects, so their tuples are shared.
_build_object_id = lru_cache(maxsize=1000)(ObjectId)


class SyncWaveSummary(NamedTuple):
    """The sync wave of a job with the objects that it needs, or of an object.

    Hooks have their own phases and are not summarized.
    """

    wave: int
    dependencies: tuple[ObjectId, ...] = ()
    object: ObjectId | None = None

    @property
    def keys(self) -> list[Hashable]:
        return list(self.dependencies) if self.object is None else [self.object]

    @property
    def owner(self) -> Hashable:
        return "jobs" if self.object is None else "object"


def summarize_sync_wave(job: LoweredJob) -> SyncWaveSummary | None:
    """Summarize when a job or an object is applied; None if no other object depends on it."""
    data = job.cr.data if job.cr is not None else job.groups[0].doc.data
    if find_hook_phases(data) or (job.cr is None and WAVE_ANNOTATION not in get_annotations(data)):
        return None
    if job.cr is not None:
        return SyncWaveSummary(parse_sync_wave(data), tuple(dict.fromkeys(_iter_dependencies(job))))
    metadata = get_mapping(data, "metadata")
    return SyncWaveSummary(
        parse_sync_wave(data),
        object=ObjectId(get_text(data, "kind"), get_text(metadata, "namespace"), get_text(metadata, "name")),
    )


@check(summarize=summarize_sync_wave, aliases=("applied-too-late",))
def applied_before_what_it_needs(
    summaries: Mapping[int, SyncWaveSummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """An object that a job needs and that is in a later wave; only the first one of each job.

    Values: ``job``, ``wave``, ``needs``, ``later``.
    """
    waves_by_object = {
        one.object: (one.wave, number) for number, one in summaries.items() if one.object is not None
    }
    for number, summary in summaries.items():
        for dependency in summary.dependencies:
            if dependency in waves_by_object and waves_by_object[dependency][0] > summary.wave:
                yield (
                    number,
                    _build_violation(
                        rebuild_job(number),
                        dependency,
                        rebuild_job(waves_by_object[dependency][1]).groups[0].doc,
                    ),
                )
                break


def _build_violation(job: LoweredJob, dependency: ObjectId, later_doc: TracedDocument) -> Violation:
    assert job.cr is not None
    cr, name_path, name = get_name_place(job)
    wave = parse_sync_wave(later_doc.data)
    values = {
        "job": name,
        "wave": parse_sync_wave(cr.data),
        "needs": f"{dependency.kind}/{dependency.name}",
        "later": wave,
    }
    annotation_path = (
        get_annotation_path(WAVE_ANNOTATION) if WAVE_ANNOTATION in get_annotations(cr.data) else name_path
    )
    return Violation(
        annotation_path, values, related=[(later_doc, get_annotation_path(WAVE_ANNOTATION), f"wave {wave}")]
    )


def _iter_dependencies(job: LoweredJob) -> Iterator[ObjectId]:
    job_namespace = namespace_of(job)
    if job_namespace:
        yield _build_object_id("Namespace", "", job_namespace)
    for claim in find_claim_users(job):
        yield _build_object_id("PersistentVolumeClaim", job_namespace, claim)
    for group in job.pods:
        for reference in iter_references(group):
            yield _build_object_id(reference.kind, job_namespace, reference.name)
