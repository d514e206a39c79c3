"""Objects that stand in the file of a job under another name or in another namespace than the job uses.

Sources: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/,
https://kubernetes.io/docs/concepts/storage/persistent-volumes/#claims-as-volumes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.suggestions import suggest_name
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.cross_job import NAME_PATH, RebuildJob, find_written_file
from podplan.lint.analysis.jobs import namespace_of
from podplan.lint.checks.claims import find_claim_users
from podplan.lint.checks.hashed_names import remove_hash
from podplan.lint.checks.references import iter_references
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Violation

_KINDS = ("ConfigMap", "Secret", "PersistentVolumeClaim", "ServiceAccount")


class NamedObject(NamedTuple):
    """An object by its kind, namespace and name."""

    kind: str
    namespace: str
    name: str


class NameSummary(NamedTuple):
    """The objects that a job uses, or an object, with the file."""

    file: str
    uses: tuple[NamedObject, ...] = ()
    object: NamedObject | None = None

    @property
    def keys(self) -> list[Hashable]:
        return [self.file]

    @property
    def owner(self) -> Hashable:
        return "jobs" if self.object is None else "object"


def summarize_names(job: LoweredJob) -> NameSummary | None:
    """Summarize a job by the objects that it uses, an object by its name."""
    if job.cr is not None:
        listed = [one for group in job.pods for one, _ in _iter_uses(job, group)]
        where = namespace_of(job)
        listed += [NamedObject("PersistentVolumeClaim", where, claim) for claim in find_claim_users(job)]
        listed += [
            NamedObject("Secret", where, get_text(one, "name"))
            for group in job.pods
            for _, one in get_entries(get_mapping(group.doc.data, "spec"), "imagePullSecrets")
        ]
        uses = tuple(dict.fromkeys(listed))
        return NameSummary(find_written_file(job.cr), uses) if uses else None
    doc = job.groups[0].doc
    metadata = get_mapping(doc.data, "metadata")
    found = NamedObject(
        get_text(doc.data, "kind"), get_text(metadata, "namespace"), get_text(metadata, "name")
    )
    is_usable = found.kind in _KINDS and doc.data.get("apiVersion") == "v1" and found.name
    return NameSummary(find_written_file(doc), object=found) if is_usable else None


@check(summarize=summarize_names)
def misnamed_object(
    summaries: Mapping[int, NameSummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A reference that misses the object beside it. Values: ``kind``, ``name``, ``why``."""
    objects: dict[str, dict[NamedObject, int]] = {}
    used: dict[str, set[NamedObject]] = {}
    for number, one in summaries.items():
        if one.object is not None:
            objects.setdefault(one.file, {})[one.object] = number
        used.setdefault(one.file, set()).update(one.uses)
    for number, one in summaries.items():
        beside = objects.get(one.file, {})
        unused = {other: at for other, at in beside.items() if other not in used[one.file]}
        for use in one.uses if unused else ():
            meant = None if use in beside else _find_meant(use, unused)
            if meant is None:
                continue
            job = rebuild_job(number)
            doc = rebuild_job(unused[meant]).groups[0].doc
            is_elsewhere = meant.name == use.name
            why = (
                f'is in the namespace "{meant.namespace}" of this file, and the job is in "{use.namespace}"'
                if is_elsewhere
                else f'is not in this file, in which no job uses the {use.kind} "{meant.name}"'
            )
            place: Path = ("metadata", "namespace") if is_elsewhere else NAME_PATH
            for group in job.pods:
                path = next((path for found, path in _iter_uses(job, group) if found == use), None)
                if path is not None:
                    values = {"kind": use.kind, "name": use.name, "why": why}
                    related = [(doc, place, "the object")]
                    yield number, Violation(path, values, related, doc=group.doc, group=group)


def _find_meant(use: NamedObject, unused: Mapping[NamedObject, int]) -> NamedObject | None:
    """Return the unused object that a reference probably means; None if there is none."""
    same_kind = [one for one in unused if one.kind == use.kind]
    elsewhere = [one for one in same_kind if one.name == use.name and one.namespace and use.namespace]
    if elsewhere:
        return elsewhere[0]
    names = {one.name: one for one in same_kind if one.namespace == use.namespace}
    names = {name: one for name, one in names.items() if remove_hash(name) != use.name}  # name-without-hash
    longer = [name for name in names if name.startswith(use.name) or use.name.startswith(name)]
    if longer:
        return names[longer[0]]
    near = suggest_name(use.name, names)
    return names[near] if near and _is_near(near, use.name) else None


def _is_near(one: str, other: str) -> bool:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, one, other).ratio() >= 0.85


def _iter_uses(job: LoweredJob, group: ReplicaGroup) -> Iterator[tuple[NamedObject, Path]]:
    """Yield the objects that a Pod needs, each with its path in the Pod."""
    where = namespace_of(job)
    own = {
        (one.doc.data["kind"], get_text(get_mapping(one.doc.data, "metadata"), "name")) for one in job.groups
    }
    for reference in iter_references(group):
        if (reference.kind, reference.name) not in own:
            yield NamedObject(reference.kind, where, reference.name), reference.path
    spec = get_mapping(group.doc.data, "spec")
    for at, volume in get_entries(spec, "volumes"):
        claim = get_text(get_mapping(volume, "persistentVolumeClaim"), "claimName")
        if claim and ("PersistentVolumeClaim", claim) not in own:
            path = ("spec", "volumes", at, "persistentVolumeClaim", "claimName")
            yield NamedObject("PersistentVolumeClaim", where, claim), path
    account = get_text(spec, "serviceAccountName")
    if account and ("ServiceAccount", account) not in own:
        yield NamedObject("ServiceAccount", where, account), ("spec", "serviceAccountName")
