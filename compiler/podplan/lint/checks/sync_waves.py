"""The order in which Argo CD applies what a job needs, and the job."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache

from podplan.core.provenance import Doc
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import mapping, text
from podplan.lint.analysis.cross_job import Again, named_place
from podplan.lint.analysis.gitops import WAVE, annotations_of, at, hooks, wave_of
from podplan.lint.analysis.jobs import namespace
from podplan.lint.checks.claims import users
from podplan.lint.checks.references import references
from podplan.lint.target import Hit, Job


class Need(NamedTuple):
    """An object by its kind, namespace and name."""

    kind: str
    namespace: str
    name: str


# Most jobs need the same few objects, and so leave the same few tuples.
_need = lru_cache(maxsize=1000)(Need)


class Turn(NamedTuple):
    """When something is applied: a job with what it cannot start without, or an object that is in a wave.

    A hook has phases of its own, and leaves nothing here.
    """

    wave: int
    needs: tuple[Need, ...] = ()
    object: Need | None = None

    @property
    def keys(self) -> list[Hashable]:
        return list(self.needs) if self.object is None else [self.object]

    @property
    def party(self) -> Hashable:
        return "jobs" if self.object is None else "object"


def turn_left(job: Job) -> Turn | None:
    """When a job or an object is applied; None where that matters to no other."""
    data = job.cr.data if job.cr is not None else job.groups[0].doc.data
    if hooks(data) or (job.cr is None and WAVE not in annotations_of(data)):
        return None
    if job.cr is not None:
        return Turn(wave_of(data), tuple(dict.fromkeys(_needs(job))))
    metadata = mapping(data, "metadata")
    return Turn(
        wave_of(data), object=Need(text(data, "kind"), text(metadata, "namespace"), text(metadata, "name"))
    )


def applied_too_late(left: Mapping[int, Turn], again: Again) -> Iterator[tuple[int, Hit]]:
    """An object of the repository that a job needs and that is in a later wave; the first, once per job.

    Values: ``job``, ``wave``, ``needs``, ``later``.
    """
    there = {one.object: (one.wave, number) for number, one in left.items() if one.object is not None}
    for number, one in left.items():
        for need in one.needs:
            if need in there and there[need][0] > one.wave:
                yield number, _too_late(again(number), need, again(there[need][1]).groups[0].doc)
                break


def _too_late(job: Job, need: Need, later: Doc) -> Hit:
    assert job.cr is not None
    cr, place, name = named_place(job)
    wave = wave_of(later.data)
    values = {
        "job": name,
        "wave": wave_of(cr.data),
        "needs": f"{need.kind}/{need.name}",
        "later": wave,
    }
    here = at(WAVE) if WAVE in annotations_of(cr.data) else place
    return Hit(here, values, related=[(later, at(WAVE), f"wave {wave}")])


def _needs(job: Job) -> Iterator[Need]:
    where = namespace(job)
    if where:
        yield _need("Namespace", "", where)
    for claim in users(job):
        yield _need("PersistentVolumeClaim", where, claim)
    for group in job.pods:
        for reference in references(group):
            yield _need(reference.kind, where, reference.name)
