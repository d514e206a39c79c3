"""References of a job to objects that its file has under a similar name, or in another namespace.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/ (a Pod uses claims,
Secrets, ConfigMaps and service accounts of its own namespace only).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.suggestions import suggest_name
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.cross_job import RebuildJob, find_written_file
from podplan.lint.analysis.jobs import namespace_of
from podplan.lint.checks.references import iter_references
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Violation

_KINDS = ("PersistentVolumeClaim", "ConfigMap", "Secret", "ServiceAccount")
_EVERYWHERE = ("default",)  # a service account of each namespace


class NamedObject(NamedTuple):
    """A kind of object and a name."""

    kind: str
    name: str


class NameSummary(NamedTuple):
    """The objects that a job in a file refers to, or one object of a file, with the namespace."""

    file: str
    namespace: str
    references: tuple[NamedObject, ...] = ()
    object: NamedObject | None = None

    @property
    def keys(self) -> list[Hashable]:
        return [self.file, *(self.references if self.object is None else [self.object])]

    @property
    def owner(self) -> Hashable:
        return "jobs" if self.object is None else "object"


def summarize_names(job: LoweredJob) -> NameSummary | None:
    """Summarize a job by the names of objects that it refers to, an object by its own."""
    if job.cr is not None:
        own = {_identify(group) for group in job.groups}
        found = {each for group in job.pods for each, _ in _iter_named(group)} - own
        references = tuple(sorted(found))
        return NameSummary(find_written_file(job.cr), namespace_of(job), references) if references else None
    doc = job.groups[0].doc
    named = _identify(job.groups[0])
    if named.kind not in _KINDS or doc.data.get("apiVersion") != "v1" or not named.name:
        return None
    namespace = get_text(get_mapping(doc.data, "metadata"), "namespace")
    return NameSummary(find_written_file(doc), namespace, object=named)


@check(summarize=summarize_names)
def object_misnamed(
    summaries: Mapping[int, NameSummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A reference to no object, beside one that nothing uses. Values: ``kind``, ``name``, ``why``."""
    places: dict[NamedObject, list[int]] = {}
    for number, one in summaries.items():
        if one.object is not None:
            places.setdefault(one.object, []).append(number)
    used = {each for one in summaries.values() for each in one.references}
    for number, one in summaries.items():
        for reference in one.references:
            named = places.get(reference, [])
            meant = [at for at in named if summaries[at].file == one.file] if named else []
            if not named:
                meant = _find_similar(summaries, one, reference, used, rebuild_job)
                why = "the file has {name}, which nothing uses"
            elif not one.namespace or any(_is_reached(summaries[at], one.namespace) for at in named):
                continue
            else:
                why = f"it is in the namespace {{namespace}}, and the job in {one.namespace}"
            if not meant or reference.name in _EVERYWHERE:
                continue
            found = summaries[meant[0]]
            assert found.object is not None
            doc = rebuild_job(meant[0]).groups[0].doc
            why = why.format(name=found.object.name, namespace=found.namespace)
            field = "namespace" if named else "name"
            related = [(doc, ("metadata", field), f"the {reference.kind}")]
            values = {"kind": reference.kind, "name": reference.name, "why": why}
            for group in rebuild_job(number).pods:
                path = next((path for each, path in _iter_named(group) if each == reference), None)
                if path is not None:
                    yield number, Violation(path, values, related, doc=group.doc, group=group)
                    break


def _is_reached(one: NameSummary, namespace: str) -> bool:
    return one.namespace in ("", namespace)


def _find_similar(
    summaries: Mapping[int, NameSummary],
    job: NameSummary,
    reference: NamedObject,
    used: set[NamedObject],
    rebuild_job: RebuildJob,
) -> list[int]:
    """Return an object of the same file with a similar name, which nothing in the file refers to."""
    candidates = {
        one.object.name: number
        for number, one in summaries.items()
        if one.object is not None
        and one.file == job.file
        and one.object.kind == reference.kind
        and one.object not in used
        and (not job.namespace or _is_reached(one, job.namespace))
    }
    name = suggest_name(reference.name, candidates)
    if not name or reference.kind == "ServiceAccount":
        return [candidates[name]] if name else []  # roles often have the same name
    source = rebuild_job(candidates[name]).groups[0].doc.source
    mentions = re.findall(
        rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", source.text if source is not None else ""
    )
    return [candidates[name]] if len(mentions) == 1 else []


def _identify(group: ReplicaGroup) -> NamedObject:
    data = group.doc.data
    return NamedObject(get_text(data, "kind"), get_text(get_mapping(data, "metadata"), "name"))


def _iter_named(group: ReplicaGroup) -> Iterator[tuple[NamedObject, Path]]:
    """Yield the objects to which a Pod refers, with the paths of their names."""
    for reference in iter_references(group):
        yield NamedObject(reference.kind, reference.name), reference.path
    spec = get_mapping(group.doc.data, "spec")
    for number, volume in get_entries(spec, "volumes"):
        claim = get_text(get_mapping(volume, "persistentVolumeClaim"), "claimName")
        if claim:
            path: Path = ("spec", "volumes", number, "persistentVolumeClaim", "claimName")
            yield NamedObject("PersistentVolumeClaim", claim), path
    account = get_text(spec, "serviceAccountName")
    if account:
        yield NamedObject("ServiceAccount", account), ("spec", "serviceAccountName")
