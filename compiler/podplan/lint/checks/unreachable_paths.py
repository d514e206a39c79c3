"""Paths that are not on a mount of the container, but on one of another container or on a similar path.

Source: https://kubernetes.io/docs/concepts/storage/volumes/ (a container sees only its own mounts).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_text
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.launches import ContainerLaunch
from podplan.lint.analysis.resources import list_containers, list_init_containers
from podplan.lint.analysis.script_files import list_written_files
from podplan.lint.analysis.script_options import list_program_options
from podplan.lint.checks.init_preparation import COMMON_FOLDERS, is_on_path, iter_written_paths
from podplan.lint.checks.outputs import ContainerPath, mount_of, trainings
from podplan.lint.checks.registration import check
from podplan.lint.checks.reserved_env import is_set_by_controller
from podplan.lint.checks.unmounted_volumes import list_folders, list_texts
from podplan.lint.target import LoweredJob, Target, Violation

# Folders that exist in images, so that a path below them needs no volume.
_OF_IMAGE = compile_lazily(
    r"/(?:app|bin|boot|code|dev|etc|home|lib(?:32|64)?|media|mnt|opt|proc|root|run|sbin|src|srv|sys|tmp|usr|var"
    r"|workspace)?(?:/.*)?"
)
# Folders of images that are for mounts, so that nothing else is below them.
_FOR_MOUNTS = ("/mnt/", "/media/")
_FOLDER_VARIABLE = compile_lazily(r"_(?:HOME|DIR|PATH|ROOT|FOLDER|CACHE)\Z")
_SHORTEST = len("/abc")
_SHORTEST_NAME = 3  # of a folder below /mnt: one letter of a shorter name may number it
_PATH = compile_lazily(r"(?<![\w.$}:/-])/[\w.@+-]+(?:/[\w.@+-]+)*")


class MountedFolder(NamedTuple):
    """A folder that a container mounts: the container, the volume, and the path of the mount."""

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
    yield from _find_other_places(subject, group)
    containers = [
        *list_containers(group),
        *(each for each in list_init_containers(group) if each[1].get("restartPolicy") == "Always"),
    ]
    sources = _list_read_only_mounts(list_init_containers(group))
    if len(containers) < 2 and not sources:
        return
    for base, container in containers:
        mounts = {**sources, **_list_mounts([each for each in containers if each[0] != base])}
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


def _find_other_places(subject: Target, group: ReplicaGroup) -> Iterator[Violation]:
    """Paths at which an init container prepares a volume, named by a container that mounts it elsewhere."""
    for base, init in list_init_containers(group):
        written = [path for _, path in iter_written_paths(init)]
        written += [file.path for file in list_written_files(init)]
        for path in dict.fromkeys(written):
            mount = mount_of(init, path)
            if mount is None or path in COMMON_FOLDERS:
                continue
            volume = get_text(mount[1], "name")
            for container_base, container in list_containers(group):
                own = _find_mount_of_volume(container, volume)
                found = _find_use(container, path) if own is not None else None
                if own is None or found is None:
                    continue
                values = {
                    "path": found[1],
                    "container": get_text(container, "name"),
                    "other": get_text(init, "name"),
                    "volume": volume,
                }
                related: list[tuple[TracedDocument, Path, str]] = [
                    (subject.doc, (*base, "volumeMounts", mount[0], "mountPath"), "where it is prepared"),
                    (subject.doc, (*container_base, "volumeMounts", own, "mountPath"), "where it is mounted"),
                ]
                yield Violation((*container_base, *found[0]), values, related)


def _find_mount_of_volume(container: Mapping[str, Any], volume: str) -> int | None:
    mounts = get_entries(container, "volumeMounts")
    return next((at for at, mount in mounts if get_text(mount, "name") == volume), None)


def _find_use(container: Mapping[str, Any], prepared: str) -> tuple[Path, str] | None:
    """The first path that a container names at a prepared one, where it mounts and writes nothing."""
    made = [path for _, path in iter_written_paths(container)]
    for place, text in list_texts(container):
        for path in _PATH.findall(text):
            if (
                is_on_path(path, prepared)
                and path not in COMMON_FOLDERS
                and mount_of(container, path) is None
                and not any(is_on_path(path, each) for each in made)
            ):
                return place, path
    return None


def _find_other_mount(
    text: str, container: Mapping[str, Any], mounts: Mapping[str, MountedFolder]
) -> tuple[str, MountedFolder] | None:
    for path in _PATH.findall(text) if mounts else ():
        if mount_of(container, path) is None:
            for folder in list_folders(path):
                if folder in mounts:
                    return path, mounts[folder]
    return None


def _list_mounts(containers: list[tuple[Path, Mapping[str, Any]]]) -> dict[str, MountedFolder]:
    """Return the folders that containers mount, except those that an image may contain."""
    return {
        folder: MountedFolder(
            get_text(container, "name"), get_text(mount, "name"), (*base, "volumeMounts", at)
        )
        for base, container in containers
        for at, mount in get_entries(container, "volumeMounts")
        if not _OF_IMAGE.fullmatch(folder := get_text(mount, "mountPath").rstrip("/"))
    }


def _list_read_only_mounts(inits: list[tuple[Path, Mapping[str, Any]]]) -> dict[str, MountedFolder]:
    """Return the folders from which init containers only read; what they fill is for the others."""
    read_only: list[tuple[Path, Mapping[str, Any]]] = [
        (base, {**init, "volumeMounts": [one if one.get("readOnly") is True else {} for one in mounts]})
        for base, init in inits
        if (mounts := [one for _, one in get_entries(init, "volumeMounts")])
    ]
    return _list_mounts(read_only)


def _mounted_volumes(container: Mapping[str, Any]) -> set[str]:
    return {get_text(mount, "name") for _, mount in get_entries(container, "volumeMounts")}


@check()
def path_beside_mount(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A path of an option or variable that differs little from a mount of its container.

    It differs by one letter, or it is longer or shorter than a mount that nothing names.
    Values: ``option``, ``path``, ``mounted``.
    """
    job = target.job
    for launch, where in trainings(job):
        if launch.invocation.is_conditional:
            continue
        folders = {
            get_text(mount, "mountPath").rstrip("/"): at
            for at, mount in get_entries(where.container, "volumeMounts")
        }
        named = [text for _, text in list_texts(where.container)]
        named += [word.text for word in launch.invocation.words]
        unnamed = {folder for folder in folders if not any(_names(text, folder) for text in named)}
        for option, value, path, doc, group in _iter_given_paths(job, launch, where):
            if not _PATH.fullmatch(value) or mount_of(where.container, value):
                continue
            if _OF_IMAGE.fullmatch(value) and not value.startswith(_FOR_MOUNTS):
                continue
            of_launcher = _find_launcher_mount(launch, where, value)
            if of_launcher is not None:
                values = {"option": option, "path": value, "mounted": "only the launcher mounts it"}
                related = [
                    (
                        launch.group.doc,
                        (*launch.path, "volumeMounts", of_launcher),
                        "the mount of the launcher",
                    )
                ]
                yield Violation(path, values, related, doc=doc, group=group)
                continue
            for folder, at in folders.items():
                own = "/".join(value.split("/")[: folder.count("/") + 1])
                if value.startswith(_FOR_MOUNTS) and len(folder.rpartition("/")[2]) < _SHORTEST_NAME:
                    continue
                if folder and (_is_typo(own, folder) or (folder in unnamed and _is_longer(own, folder))):
                    values = {"option": option, "path": value, "mounted": f"the container mounts {folder}"}
                    related = [(where.group.doc, (*where.base, "volumeMounts", at), "the volume")]
                    yield Violation(path, values, related, doc=doc, group=group)
                    break


def _find_launcher_mount(launch: ContainerLaunch, where: ContainerPath, path: str) -> int | None:
    """Return the mount of the launcher with a path of its workers."""
    found = mount_of(launch.container, path) if launch.group is not where.group else None
    if found is None or is_set_by_controller(launch.group, (*launch.path, "volumeMounts", found[0])):
        return None
    return found[0]


def _iter_given_paths(
    job: LoweredJob, launch: ContainerLaunch, where: ContainerPath
) -> Iterator[tuple[str, str, Path, TracedDocument, ReplicaGroup]]:
    """Yield the options of a training and the variables of its container: name, value and place."""
    for placed in list_program_options(job, launch):
        yield placed.option.name, placed.option.value or "", placed.path, placed.doc, launch.group
    for at, entry in get_entries(where.container, "env"):
        name, place = get_text(entry, "name"), (*where.base, "env", at, "value")
        if _FOLDER_VARIABLE.search(name):
            yield name, get_text(entry, "value"), place, where.group.doc, where.group


def _names(text: str, folder: str) -> bool:
    return any(f"{path}/".startswith(f"{folder}/") for path in _PATH.findall(text))


def _is_longer(written: str, meant: str) -> bool:
    """Whether one of two paths continues the other with letters."""
    short, long = sorted((written, meant), key=len)
    return len(short) > _SHORTEST and long.startswith(short) and long[len(short) :].isalpha()


def _is_typo(written: str, meant: str) -> bool:
    """Whether two paths differ by one inserted, removed or replaced letter, or by two swapped ones."""
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
