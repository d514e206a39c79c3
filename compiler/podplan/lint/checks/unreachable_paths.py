"""Paths that a container names and that none of its volumes holds, though one of the Pod does.

Source: https://kubernetes.io/docs/concepts/storage/volumes/ (a container sees what it mounts, where it does).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_text
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.resources import list_containers, list_init_containers
from podplan.lint.analysis.script_options import of_program
from podplan.lint.checks.outputs import mount_of, trainings
from podplan.lint.checks.registration import check
from podplan.lint.checks.unmounted_volumes import list_folders, list_texts
from podplan.lint.target import Target, Violation

# Folders that images have as well, so that a path below them needs no volume.
_OF_IMAGE = compile_lazily(
    r"/(?:app|bin|boot|code|dev|etc|home|lib(?:32|64)?|media|mnt|opt|proc|root|run|sbin|src|srv|sys|tmp|usr|var"
    r"|workspace)?(?:/.*)?"
)
_PATH = compile_lazily(r"(?<![\w.$}:/-])/[\w.@+-]+(?:/[\w.@+-]+)*")


class Mounted(NamedTuple):
    """A folder that a container mounts: the container, the volume, and the place of the mount."""

    container: str
    volume: str
    path: Path


@check()
def path_of_other_container(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A path that only another container of the Pod mounts.

    Values: ``path``, ``container``, ``other``, ``volume``.
    """
    group = subject.group
    if group is None or is_mode_enabled(subject.job, "debug"):
        return
    containers = [
        *list_containers(group),
        *(each for each in list_init_containers(group) if each[1].get("restartPolicy") == "Always"),
    ]
    if len(containers) < 2:
        return
    for base, container in containers:
        mounts = _list_mounts([each for each in containers if each[0] != base])
        own = _mounted_volumes(container)
        for place, text in list_texts(container):
            found = _find_other_mount(
                text, container, {k: m for k, m in mounts.items() if m.volume not in own}
            )
            if found is not None:
                path, mounted = found
                values = {
                    "path": path,
                    "container": get_text(container, "name"),
                    "other": mounted.container,
                    "volume": mounted.volume,
                }
                related = [(subject.doc, mounted.path, "where it is mounted")]
                yield Violation((*base, *place), values, related)
                break


def _find_other_mount(
    text: str, container: Mapping[str, Any], mounts: Mapping[str, Mounted]
) -> tuple[str, Mounted] | None:
    for path in _PATH.findall(text) if mounts else ():
        if mount_of(container, path) is None:
            for folder in list_folders(path):
                if folder in mounts:
                    return path, mounts[folder]
    return None


def _list_mounts(containers: list[tuple[Path, Mapping[str, Any]]]) -> dict[str, Mounted]:
    """The folders that containers mount, without those that an image may have as well."""
    return {
        folder: Mounted(get_text(container, "name"), get_text(mount, "name"), (*base, "volumeMounts", at))
        for base, container in containers
        for at, mount in get_entries(container, "volumeMounts")
        if not _OF_IMAGE.fullmatch(folder := get_text(mount, "mountPath").rstrip("/"))
    }


def _mounted_volumes(container: Mapping[str, Any]) -> set[str]:
    return {get_text(mount, "name") for _, mount in get_entries(container, "volumeMounts")}


@check()
def path_beside_mount(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A path of an option that differs from a mount of its container by one letter.

    Values: ``option``, ``path``, ``mount``.
    """
    job = target.job
    for launch, where in trainings(job):
        if launch.invocation.is_conditional:
            continue
        folders = {
            get_text(mount, "mountPath").rstrip("/"): at
            for at, mount in get_entries(where.container, "volumeMounts")
        }
        for placed in of_program(job, launch):
            value = placed.option.value or ""
            if not _PATH.fullmatch(value) or _OF_IMAGE.fullmatch(value) or mount_of(where.container, value):
                continue
            for folder, at in folders.items():
                if folder and _is_typo("/".join(value.split("/")[: folder.count("/") + 1]), folder):
                    values = {"option": placed.option.name, "path": value, "mount": folder}
                    related = [(where.group.doc, (*where.base, "volumeMounts", at), "the volume")]
                    yield Violation(placed.path, values, related, doc=placed.doc, group=launch.group)
                    break


def _is_typo(written: str, meant: str) -> bool:
    """Whether two paths differ by one letter that is added, left out or replaced, or by two swapped ones."""
    if written == meant or abs(len(written) - len(meant)) > 1:
        return False
    start = next(
        (at for at, pair in enumerate(zip(written, meant, strict=False)) if len(set(pair)) > 1),
        min(len(written), len(meant)),
    )
    one, other = written[start:], meant[start:]
    if one[:2] == other[:2][::-1] and one[2:] == other[2:]:
        return one[:2].isalpha()
    return (
        (one[1:] == other[1:] and one[:1].isalpha() and other[:1].isalpha())
        or (one[1:] == other and one[:1].isalpha())
        or (one == other[1:] and other[:1].isalpha())
    )
