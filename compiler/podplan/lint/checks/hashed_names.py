"""ConfigMaps and Secrets to whose names kustomize has added a hash, and jobs that use them without it.

kustomize changes the references to them in Pods, Deployments, Jobs and other kinds that it knows, and in
custom resources only where its configuration lists the field. Sources:
https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/configmapgenerator/,
https://github.com/kubernetes-sigs/kustomize/blob/master/examples/transformerconfigs/README.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.cross_job import RebuildJob
from podplan.lint.analysis.jobs import namespace_of
from podplan.lint.checks.references import iter_references
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Violation

_KINDS = ("ConfigMap", "Secret")
_HASH_LENGTH = 10
_HASH_CHARACTERS = frozenset("2456789bcdfghkmt")


class HashSummary(NamedTuple):
    """The objects that a job needs, each with its kind, namespace and name, or the one that a document is.

    ``name`` of an object has its hash; ``needs`` have none.
    """

    needs: tuple[tuple[str, str, str], ...]
    name: str = ""

    @property
    def keys(self) -> list[Hashable]:
        return list(self.needs)

    @property
    def owner(self) -> Hashable:
        return self.name or "jobs"


def summarize_names(job: LoweredJob) -> HashSummary | None:
    """Summarize a job by the ConfigMaps and Secrets that it needs, one of those by its name without
    a hash."""
    if job.cr is not None:
        references = [one for group in job.pods for one in iter_references(group)]
        needs = {(one.kind, namespace_of(job), one.name): None for one in references}
        return HashSummary(tuple(needs)) if needs else None
    data = job.groups[0].doc.data
    metadata = get_mapping(data, "metadata")
    name = get_text(metadata, "name")
    if get_text(data, "kind") not in _KINDS or not name:
        return None
    need = get_text(data, "kind"), get_text(metadata, "namespace"), remove_hash(name) or name
    return HashSummary((need,), name)


def remove_hash(name: str) -> str:
    """Return a name without the hash that kustomize has added; "" for one without a hash."""
    plain, _, suffix = name.rpartition("-")
    return plain if len(suffix) == _HASH_LENGTH and _HASH_CHARACTERS.issuperset(suffix) else ""


@check(summarize=summarize_names)
def name_without_hash(
    summaries: Mapping[int, HashSummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A reference to an object of which there is only one with a hash.

    Values: ``kind``, ``name``, ``hashed``, ``job``.
    """
    objects: dict[tuple[str, str, str], dict[str, int]] = {}
    for number, one in summaries.items():
        if one.name:
            objects.setdefault(one.needs[0], {})[one.name] = number
    for number, one in summaries.items():
        for need in one.needs if not one.name else ():
            offered = objects.get(need, {})
            if len(offered) != 1 or need[2] in offered:
                continue
            (hashed,) = offered
            job, there = rebuild_job(number), rebuild_job(offered[hashed]).groups[0].doc
            related = [(there, ("metadata", "name"), "its name has a hash")]
            group, path = _locate(job, need)
            job_kind = get_text(job.cr.data, "kind") if job.cr is not None else ""
            values = {"kind": need[0], "name": need[2], "hashed": hashed, "job": job_kind}
            yield number, Violation(path, values, related, doc=group.doc, group=group)


def _locate(job: LoweredJob, need: tuple[str, str, str]) -> tuple[ReplicaGroup, Path]:
    """Return the first reference of a job to an object that it needs."""
    return next(
        (group, reference.path)
        for group in job.pods
        for reference in iter_references(group)
        if (reference.kind, reference.name) == (need[0], need[2])
    )
