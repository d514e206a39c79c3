"""Claims of the repository with a volumeMode that the containers of a job do not expect.

Source: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#raw-block-volume-support.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.cross_job import RebuildJob, find_written_file
from podplan.lint.analysis.jobs import find_written_path, namespace_of
from podplan.lint.analysis.resources import list_containers, list_init_containers
from podplan.lint.checks.registration import check
from podplan.lint.checks.repository_objects import (
    ObjectNeed,
    ObjectSummary,
    find_common_content,
    iter_needed_objects,
)
from podplan.lint.target import LoweredJob, Violation

_KIND = "PersistentVolumeClaim"
_FIELDS = {"volumeMounts": "Filesystem", "volumeDevices": "Block"}


class ClaimMount(NamedTuple):
    """A claim that a container uses: the mode that it needs, and where the use is written."""

    claim: str
    field: str
    group: ReplicaGroup
    path: Path


def summarize_volume_modes(job: LoweredJob) -> ObjectSummary | None:
    """Summarize a job by the claims that it mounts, a claim by its volumeMode."""
    if job.cr is not None:
        uses: dict[str, dict[str, None]] = {}
        for mount in _iter_mounts(job):
            uses.setdefault(mount.claim, {})[_FIELDS[mount.field]] = None
        needs = tuple((ObjectNeed(_KIND, namespace_of(job), claim), tuple(of)) for claim, of in uses.items())
        return ObjectSummary(find_written_file(job.cr), needs) if needs else None
    doc = job.groups[0].doc
    metadata, spec = get_mapping(doc.data, "metadata"), get_mapping(doc.data, "spec")
    name = get_text(metadata, "name")
    if (doc.data.get("apiVersion"), doc.data.get("kind")) != ("v1", _KIND) or not name:
        return None
    # A claim without access modes is a part of one.
    mode = get_text(spec, "volumeMode") or "Filesystem"
    content = (mode,) if "accessModes" in spec and mode in _FIELDS.values() else ()
    need = ObjectNeed(_KIND, get_text(metadata, "namespace"), name)
    return ObjectSummary(find_written_file(doc), object=need, content=content)


@check(summarize=summarize_volume_modes)
def volume_mode_differs(
    summaries: Mapping[int, ObjectSummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A claim with another volumeMode than its use needs.

    Values: ``claim``, ``mode``, ``field``, ``instead``.
    """
    for number, need, used, offered in iter_needed_objects(summaries):
        modes = find_common_content(summaries, offered)
        if len(modes) != 1 or modes.issuperset(used):
            continue
        (mode,) = modes
        claim = rebuild_job(offered[0]).groups[0].doc
        place = find_written_path(claim.data, "spec", "volumeMode")
        reported: set[tuple[str, Path]] = set()
        for mount in _iter_mounts(rebuild_job(number)):
            key = (mount.group.replica_type, mount.path)
            if mount.claim == need.name and _FIELDS[mount.field] != mode and key not in reported:
                reported.add(key)
                instead = next(field for field, of in _FIELDS.items() if of == mode)
                values = {"claim": need.name, "mode": mode, "field": mount.field, "instead": instead}
                related = [(claim, place, "the volumeMode of the claim")]
                yield number, Violation(mount.path, values, related, doc=mount.group.doc, group=mount.group)


def _iter_mounts(job: LoweredJob) -> Iterator[ClaimMount]:
    for group in job.pods:
        volumes = get_entries(get_mapping(group.doc.data, "spec"), "volumes")
        claims = {
            get_text(volume, "name"): get_text(get_mapping(volume, "persistentVolumeClaim"), "claimName")
            for _, volume in volumes
        }
        for base, container in (*list_containers(group), *list_init_containers(group)):
            for field in _FIELDS:
                for at, entry in get_entries(container, field):
                    claim = claims.get(get_text(entry, "name"))
                    if claim:
                        yield ClaimMount(claim, field, group, (*base, field, at, "name"))
