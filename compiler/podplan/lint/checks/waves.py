"""The order in which Argo CD applies what a job needs, and the job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.findings import Path
from podplan.kubernetes.shape import mapping, text
from podplan.lint.checks._gitops import WAVE, annotations_of, at, hooks, wave_of
from podplan.lint.checks._jobs import called, for_all, namespace, written
from podplan.lint.checks.claims import users
from podplan.lint.checks.references import references
from podplan.lint.subject import Hit, Job, Subject
from podplan.provenance import Doc
from podplan.typing import Any, NamedTuple


class Need(NamedTuple):
    """An object that a job cannot start without."""

    kind: str
    name: str


def applied_too_late(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """An object of the repository that a job needs and that is in a later wave; the first, once per job.

    Values: ``job``, ``wave``, ``needs``, ``later``. A hook has phases of its own.
    """
    job = subject.job
    assert job.cr is not None
    if hooks(job.cr.data):
        return
    wave, there = wave_of(job.cr.data), _objects(subject.jobs)
    for need in _needs(job):
        where = "" if need.kind == "Namespace" else namespace(job)
        doc = there.get((need.kind, where, need.name))
        if doc is None or hooks(doc.data) or wave_of(doc.data) <= wave:
            continue
        later = wave_of(doc.data)
        values = {"job": called(job), "wave": wave, "needs": f"{need.kind}/{need.name}", "later": later}
        here = at(WAVE) if WAVE in annotations_of(job.cr.data) else written(job.cr.data, "metadata", "name")
        related: list[tuple[Doc, Path, str]] = [(doc, at(WAVE), f"wave {later}")]
        yield Hit(here, values, related=related)
        return


def _needs(job: Job) -> Iterator[Need]:
    if namespace(job):
        yield Need("Namespace", namespace(job))
    for claim in users(job):
        yield Need("PersistentVolumeClaim", claim)
    for group in job.pods:
        for reference in references(group):
            yield Need(reference.kind, reference.name)


@for_all
def _objects(jobs: tuple[Job, ...]) -> dict[tuple[str, str, str], Doc]:
    """The objects of the repository that are in a wave, by kind, namespace and name."""
    found: dict[tuple[str, str, str], Doc] = {}
    for job in jobs:
        doc = job.groups[0].doc if job.cr is None and job.groups else None
        if doc is not None and WAVE in annotations_of(doc.data):
            metadata, kind = mapping(doc.data, "metadata"), text(doc.data, "kind")
            found[kind, text(metadata, "namespace"), text(metadata, "name")] = doc
    return found
