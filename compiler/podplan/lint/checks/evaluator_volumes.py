"""Evaluators that wait for checkpoints on a volume to which nobody writes any.

Sources: https://www.tensorflow.org/api_docs/python/tf/estimator/train_and_evaluate (the evaluator reads the
checkpoints in model_dir), https://kubernetes.io/docs/concepts/storage/volumes/#emptydir (one for each Pod).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.launches import ContainerLaunch
from podplan.lint.analysis.resources import list_containers, list_init_containers
from podplan.lint.checks.outputs import ContainerPath, mount_of, named_values, outputs_of, trainings
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_EVALUATOR = compile_lazily(r"eval(?:uator|uation|s)?|valid(?:ator|ation)?")
# Options for the folder that a training and its evaluators share.
_MODEL_FOLDER = compile_lazily(r"-*(?:model|ckpt|checkpoints?|train)[-_]?(?:dir|path|folder)")
_NOT_WRITTEN_BY_OTHERS = compile_lazily(r"/(?:data|dev|etc|tmp|opt|proc|sys|usr)(?:/.*)?")


class Checkpoints(NamedTuple):
    """A folder that a training writes to a claim: the replica type, the claim, and the place."""

    name: str
    path: str
    replica_type: str
    claim: str
    group: ReplicaGroup
    place: Path


@check()
def evaluator_on_own_volume(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An evaluator that reads on another volume than the training writes. Values: ``type``, ``path``,
    ``what``, ``writer``, ``claim``."""
    job = target.job
    if not any(_is_evaluator(group) for group in job.pods):
        return
    written = list(_list_checkpoints(job))
    for launch, where in trainings(job):
        if not _is_evaluator(launch.group) or launch.group is not where.group:
            continue
        if any(each.claim in _list_claims(where) for each in written):
            # It may read there, and write its results elsewhere, but for the folder of the checkpoints.
            yield from _iter_other_folders(launch, where, written)
            continue
        reported: set[Path] = set()
        for path in _list_paths(launch):
            found = _find_source(where, path)
            other = next((each for each in written if _is_below(path, each.path)), None)
            if found is None or other is None:
                continue
            what, place = found
            if place in reported:
                continue
            reported.add(place)
            values = {
                "type": launch.group.replica_type,
                "path": path,
                "what": what,
                "writer": other.replica_type,
                "claim": other.claim,
            }
            related = [(other.group.doc, other.place, "where the checkpoints are written")]
            yield Violation(place, values, related, doc=where.group.doc, group=where.group)


def _iter_other_folders(
    launch: ContainerLaunch, where: ContainerPath, written: list[Checkpoints]
) -> Iterator[Violation]:
    """Yield the option for checkpoints with another folder on the claim than in the other replica types."""
    paths = [normpath(value) for _, value, _ in named_values(launch) if value.startswith("/")]
    if any(_is_below(path, each.path) for path in paths for each in written):
        return
    for name, value, word in named_values(launch):
        other = next((each for each in written if each.name == name and _MODEL_FOLDER.fullmatch(name)), None)
        found = _find_volume(where, normpath(value)) if value.startswith("/") else None
        if other is None or found is None:
            continue
        values = {
            "type": launch.group.replica_type,
            "path": value,
            "what": f"the claim, beside {other.path}",
            "writer": other.replica_type,
            "claim": other.claim,
        }
        related = [(other.group.doc, other.place, "where the checkpoints are written")]
        place = launch.locate_word(word)
        yield Violation(place, values, related, doc=where.group.doc, group=where.group)
        return


def _is_evaluator(group: ReplicaGroup) -> bool:
    return _EVALUATOR.fullmatch(group.replica_type.lower()) is not None


def _list_checkpoints(job: LoweredJob) -> Iterator[Checkpoints]:
    """The outputs of the other replica types on a claim."""
    for launch, where in trainings(job):
        if _is_evaluator(launch.group):
            continue
        for output in outputs_of(launch, where):
            found = _find_volume(where, output.path) if output.kind != "log" else None
            claim = get_text(get_mapping(found[1], "persistentVolumeClaim"), "claimName") if found else ""
            if claim:
                replica_type = where.group.replica_type
                yield Checkpoints(output.name, output.path, replica_type, claim, launch.group, output.place)


def _list_paths(launch: ContainerLaunch) -> Iterator[str]:
    """The paths that options of an evaluator name."""
    for _, value, _ in named_values(launch):
        if value.startswith("/") and not _NOT_WRITTEN_BY_OTHERS.fullmatch(normpath(value)):
            yield normpath(value)


def _list_claims(where: ContainerPath) -> set[str]:
    """The claims that a container mounts."""
    mounted = {get_text(mount, "name") for _, mount in get_entries(where.container, "volumeMounts")}
    return {
        get_text(get_mapping(volume, "persistentVolumeClaim"), "claimName")
        for _, volume in get_entries(get_mapping(where.group.doc.data, "spec"), "volumes")
        if get_text(volume, "name") in mounted
    }


def _is_below(path: str, other: str) -> bool:
    return f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")


def _find_volume(where: ContainerPath, path: str) -> tuple[int, Mapping[str, Any]] | None:
    """The volume that holds a path of a container, with its index."""
    mount = mount_of(where.container, path)
    volumes = get_entries(get_mapping(where.group.doc.data, "spec"), "volumes")
    name = get_text(mount[1], "name") if mount is not None else ""
    return next((each for each in volumes if name and get_text(each[1], "name") == name), None)


def _find_source(where: ContainerPath, path: str) -> tuple[str, Path] | None:
    """An emptyDir that no other container fills, or a claim, at a path of an evaluator, and its place."""
    found = _find_volume(where, path)
    if found is None:
        return None
    at, volume = found
    claim = get_text(get_mapping(volume, "persistentVolumeClaim"), "claimName")
    if claim:
        return f'the claim "{claim}"', ("spec", "volumes", at, "persistentVolumeClaim", "claimName")
    name = get_text(volume, "name")
    is_shared = any(
        get_text(mount, "name") == name
        for base, container in (*list_containers(where.group), *list_init_containers(where.group))
        if base != where.base
        for _, mount in get_entries(container, "volumeMounts")
    )
    if "emptyDir" not in volume or is_shared:
        return None
    return f'the emptyDir "{name}" of its own Pod', ("spec", "volumes", at, "emptyDir")
