"""The images and the working directory of a ColossalAIJob, which its launcher and its workers share.

Sources: t9k-semantics §3.2 and §3.3; lowering-anchors §2.5 and §4.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.findings import Path
from podplan.groups import Group
from podplan.kubernetes.shape import entries, text
from podplan.lint.checks._jobs import mode
from podplan.lint.checks._launches import launches
from podplan.lint.checks._resources import training
from podplan.lint.subject import Hit, Job, Subject
from podplan.typing import Any

Container = tuple[Group, Path, Mapping[str, Any]]


def launcher_workdir(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A working directory of the launcher that the workers may not have; values ``folder`` and ``image``."""
    pair = _pair(subject.job)
    if pair is None:
        return
    (group, path, launcher), (of_workers, at, worker) = pair
    folder = text(launcher, "workingDir")
    if not folder.startswith("/") or folder == "/" or _same_image(launcher, worker) or _has(worker, folder):
        return
    where = (of_workers.doc, (*at, "image"), "the workers run another image")
    values = {"folder": folder, "image": text(worker, "image")}
    yield Hit((*path, "workingDir"), values, [where], doc=group.doc, group=group)


def script_in_worker_folder(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A relative script that only the workers have in their working directory.

    Values: ``script``, ``folder`` of the launcher, ``own`` of the workers.
    """
    pair = _pair(subject.job)
    if pair is None:
        return
    (group, path, launcher), (of_workers, at, worker) = pair
    own, folder = (normpath(text(one, "workingDir") or "/") for one in (worker, launcher))
    given = text(launcher, "workingDir")
    script = next((one.invocation.script for one in launches(subject.job) if one.group is group), None)
    if script is None or not script.known or script.text.startswith("/") or own in ("/", folder):
        return
    if not _has(worker, own) or (given and _has(worker, folder)):
        return
    values = {"script": script.text, "folder": given or "the working directory of its image", "own": own}
    where = (
        of_workers.doc,
        (*at, "workingDir"),
        "the working directory of the workers, which does not count",
    )
    place: Path = (*path, "workingDir") if given else path
    yield Hit(place, values, [where], doc=group.doc, group=group)


def image_skew(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A launcher and workers of unlike images; values ``launcher`` and ``worker``."""
    pair = _pair(subject.job)
    if pair is None:
        return
    (group, path, launcher), (of_workers, at, worker) = pair
    if _same_image(launcher, worker):
        return
    where = (of_workers.doc, (*at, "image"), "the image of the workers")
    values = {"launcher": text(launcher, "image"), "worker": text(worker, "image")}
    yield Hit((*path, "image"), values, [where], doc=group.doc, group=group)


def _pair(job: Job) -> tuple[Container, Container] | None:
    """The containers of the launcher and of the workers, where the one starts the training on the others."""
    found: dict[str, Container] = {}
    for group in job.pods:
        container = training(group)
        if container is not None:
            found.setdefault(group.role, (group, *container))
    if mode(job, "debug") or not {"launcher", "worker"} <= set(found):
        return None
    return found["launcher"], found["worker"]


def _same_image(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    images = text(one, "image"), text(other, "image")
    return images[0] == images[1] or "" in images


def _has(container: Mapping[str, Any], folder: str) -> bool:
    """Whether a folder lies in a volume of the container."""
    mounts = (text(mount, "mountPath").rstrip("/") for _, mount in entries(container, "volumeMounts"))
    return any(mount and f"{folder}/".startswith(f"{mount}/") for mount in mounts)
