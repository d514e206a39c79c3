"""Files of ConfigMaps and Secrets: their modes and their paths, and volumes that nothing mounts.

Sources: https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/volume/ (defaultMode
is 0644; with items only those keys are files), https://man7.org/linux/man-pages/man2/execve.2.html (EACCES).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.launchers.words import Word
from podplan.lint.analysis.deepspeed_line import find_written_word
from podplan.lint.analysis.jobs import get_replica_specs
from podplan.lint.analysis.processes import programs_of
from podplan.lint.analysis.resources import list_containers, list_init_containers
from podplan.lint.checks.outputs import iter_written_paths, mount_of, volume_of
from podplan.lint.checks.registration import check
from podplan.lint.checks.reserved_env import is_set_by_controller
from podplan.lint.checks.unmounted_volumes import list_texts
from podplan.lint.target import Target, Violation

DEFAULT_MODE = 0o644
_EXECUTABLE = 0o111
_SOURCES = {"configMap": "ConfigMap", "secret": "Secret"}
_HANDLERS = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")
_PATH = compile_lazily(r"(?<![\w.$}:/*-])/[\w.@+-]+(?:/[\w.@+-]+)*(?![\w.@+/*$?{\[-])")
_FILE = compile_lazily(r".*\.[A-Za-z]\w{0,9}")
_CONFIG_FILE = compile_lazily(r".*\.(?:ya?ml|json|toml|ini|cfg|py|sh|txt|crt|pem)")
_TESTED = compile_lazily(r"-[efrsL]\s+[\"']?\Z")
# Types of volumes with data, and their names in messages.
_CONTENT = {
    "persistentVolumeClaim": "claimName",
    "configMap": "name",
    "secret": "secretName",
    "nfs": "path",
    "hostPath": "path",
}


@check()
def not_executable_file(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A file of a ConfigMap or Secret that is run and is not executable.

    Values: ``path``, ``kind``, ``volume``, ``mode``.
    """
    group = target.group
    if group is None:
        return
    for base, container in (*list_init_containers(group), *list_containers(group)):
        for path, place in _iter_started_files(container):
            mount = mount_of(container, path)
            volume = volume_of(group, get_text(mount[1], "name")) if mount is not None else {}
            kind = next((field for field in _SOURCES if field in volume), "")
            if mount is None or not kind:
                continue
            source = get_mapping(volume, kind)
            name = get_text(mount[1], "subPath") or _below(path, mount[1])
            item = next((one for _, one in get_entries(source, "items") if get_text(one, "path") == name), {})
            mode = item.get("mode", source.get("defaultMode", DEFAULT_MODE))
            if isinstance(mode, int) and not mode & _EXECUTABLE:
                values = {
                    "path": path,
                    "kind": _SOURCES[kind],
                    "volume": get_text(mount[1], "name"),
                    "mode": f"{mode:04o}",
                }
                related = [(target.doc, (*base, "volumeMounts", mount[0]), "where it is mounted")]
                yield Violation((*base, *place), values, related)
                break


def _iter_started_files(container: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    """Yield the programs that a container starts by path, also in its probes and hooks."""
    programs = programs_of(container)
    # A script may make a writable file executable, or copy it.
    changes_modes = any(process.name in ("chmod", "install") for _, process in programs)
    for command, process in programs if not changes_modes else ():
        is_started = command is not None or bool(container.get("command"))
        if is_started and process.words:
            yield from _absolute(process.words[0])
    lifecycle = get_mapping(container, "lifecycle")
    handlers: list[tuple[Path, Mapping[str, Any]]] = [
        ((name,), get_mapping(container, name)) for name in _HANDLERS
    ]
    handlers += [(("lifecycle", name), get_mapping(lifecycle, name)) for name in _HOOKS]
    for path, handler in handlers:
        for at, word in list(get_texts(get_mapping(handler, "exec"), "command"))[:1]:
            yield from _absolute(Word(word, (*path, "exec", "command", at), 0, len(word)))


def _absolute(word: Word) -> Iterator[tuple[str, Path]]:
    if word.is_known and word.text.startswith("/"):
        yield normpath(word.text), word.place


def _below(path: str, mount: Mapping[str, Any]) -> str:
    """Return the rest of a path below a mount."""
    return path.removeprefix(normpath(get_text(mount, "mountPath"))).lstrip("/")


@check()
def file_not_in_volume(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A file path below a volume whose items create other files, or the path of a folder of such files.

    Values: ``path``, ``why``, ``volume``, ``files``.
    """
    group = target.group
    if group is None:
        return
    volumes = get_entries(get_mapping(target.data, "spec"), "volumes")
    listed = {get_text(one, "name"): _list_files(one) for _, one in volumes}
    for base, container in (*list_init_containers(group), *list_containers(group)):
        yield from _find_unlisted_sub_paths(group, base, container)
        for place, text in list_texts(container):
            for found in _PATH.finditer(text):
                path = normpath(found[0])
                mount = mount_of(container, path)
                if mount is None:
                    mount = find_unused_mount(container, path, listed)
                    if mount is None:
                        continue
                if get_text(mount[1], "subPath") or mount[1].get("subPathExpr"):
                    continue
                volume = volume_of(group, get_text(mount[1], "name"))
                files, below = _list_files(volume), _below(path, mount[1])
                is_beside = mount_of(container, path) is None
                is_other = is_beside or (
                    files
                    and below
                    and _is_file_name(below, files)
                    and not any(file == below or file.startswith(f"{below}/") for file in files)
                )
                is_folder = not below and _has_files(volume) and _CONFIG_FILE.fullmatch(path)
                if (
                    (is_other or is_folder)
                    and not below.startswith("..")
                    and not _TESTED.search(text[: found.start()])
                ):
                    why = "does not exist" if is_other else "is a folder"
                    values = {"path": path, "why": why, **_describe_files(mount[1], files)}
                    related = [(target.doc, (*base, "volumeMounts", mount[0]), "where the files are")]
                    written = find_written_word(target.job, found[0]) if place[0] != "env" else None
                    doc = target.job.cr if written is not None else None
                    yield Violation(written or (*base, *place), values, related, doc=doc)
                    break


def find_unused_mount(
    container: Mapping[str, Any], path: str, files: Mapping[str, Collection[str]]
) -> tuple[int, Mapping[str, Any]] | None:
    """Return the mount with the file that a path outside of all mounts names, if no word names the mount.

    ``files`` are the names of the files of each volume.
    """
    name = path.rpartition("/")[2]
    if not _CONFIG_FILE.fullmatch(name):
        return None
    for at, mount in get_entries(container, "volumeMounts"):
        folder = normpath(get_text(mount, "mountPath") or "/")
        if (
            mount.get("subPath")
            or mount.get("subPathExpr")
            or name not in files.get(get_text(mount, "name"), ())
        ):
            continue
        if not any(_names_folder(text, folder) for _, text in list_texts(container)):
            return at, mount
    return None


def _names_folder(text: str, folder: str) -> bool:
    return any(f"{found[0]}/".startswith(f"{folder}/") for found in _PATH.finditer(text))


def iter_named_files(container: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the paths with an extension in the words and variables of a container that it does not test, nor
    writes itself."""
    written = {path for _, process in programs_of(container) for _, path in iter_written_paths(process)}
    for place, text in list_texts(container):
        for found in _PATH.finditer(text):
            path = normpath(found[0])
            is_written = any(path == one or path.startswith(f"{one}/") for one in written)
            if _FILE.fullmatch(found[0]) and not is_written and not _TESTED.search(text[: found.start()]):
                yield place, path


def _is_file_name(name: str, files: list[str]) -> bool:
    """Whether a path names a file: it has an extension, or the files beside it have none either."""
    is_plain = "/" not in name and not any("." in file for file in files)
    return is_plain or _FILE.fullmatch(name) is not None


def _find_unlisted_sub_paths(
    group: ReplicaGroup, base: Path, container: Mapping[str, Any]
) -> Iterator[Violation]:
    """Find mounts of a file that a volume does not list."""
    for at, mount in get_entries(container, "volumeMounts"):
        name, files = get_text(mount, "subPath"), _list_files(volume_of(group, get_text(mount, "name")))
        if not name or not files or "$" in name:
            continue
        wanted = normpath(name)
        if not any(file == wanted or file.startswith(f"{wanted}/") for file in files):
            values = {"path": wanted, "why": "does not exist", **_describe_files(mount, files, "")}
            yield Violation((*base, "volumeMounts", at, "subPath"), values)


def _describe_files(mount: Mapping[str, Any], files: list[str], folder: str | None = None) -> dict[str, str]:
    """Describe the files of a volume for a message, below a folder or the mount."""
    above = get_text(mount, "mountPath").rstrip("/") + "/" if folder is None else folder
    shown = ", ".join(f"{above}{file}" for file in files[:3])
    return {"volume": get_text(mount, "name"), "files": shown or f"its files below {above}"}


def _list_files(volume: Mapping[str, Any]) -> list[str]:
    """Return the files of a volume that lists all of them; empty for other volumes."""
    listed = get_entries(get_mapping(volume, "projected"), "sources")
    projected: list[Mapping[str, Any]] = [source for _, source in listed]
    files: list[str] = []
    for source in projected or [volume]:
        token = get_mapping(source, "serviceAccountToken")
        items = [
            get_text(item, "path")
            for field in (*_SOURCES, "downwardAPI")
            for _, item in get_entries(get_mapping(source, field), "items")
        ]
        if not items and not (projected and token):
            return []
        files += items or [get_text(token, "path")]
    return files


def _has_files(volume: Mapping[str, Any]) -> bool:
    """Whether a volume has the files of ConfigMaps or Secrets."""
    return any(field in volume for field in _SOURCES) or bool(_list_files(volume))


@check()
def volume_never_mounted(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A volume with data that no container mounts. Values: ``volume``, ``source``, ``why``."""
    group = target.group
    if group is None:
        return
    spec = get_mapping(target.data, "spec")
    containers = [*list_init_containers(group), *list_containers(group)]
    containers += [
        (("spec", "ephemeralContainers", at), one) for at, one in get_entries(spec, "ephemeralContainers")
    ]
    # The run mode may drop init containers.
    written = [
        one
        for replica_spec in get_replica_specs(target.job)
        if replica_spec.type == group.replica_type
        for _, one in get_entries(
            get_mapping(get_mapping(replica_spec.data, "template"), "spec"), "initContainers"
        )
    ]
    used = {
        get_text(one, "name")
        for container in (*(one for _, one in containers), *written)
        for key in ("volumeMounts", "volumeDevices")
        for _, one in get_entries(container, key)
    }
    # A mesh or an agent mounts volumes that annotations name.
    annotations = " ".join(
        map(str, get_mapping(get_mapping(target.data, "metadata"), "annotations").values())
    )
    for at, volume in get_entries(spec, "volumes"):
        name = get_text(volume, "name")
        field = next((field for field in _CONTENT if field in volume), "")
        if not field or not name or name in used or name in annotations:
            continue
        if is_set_by_controller(group, ("spec", "volumes", at)):
            continue
        source = get_text(get_mapping(volume, field), _CONTENT[field])
        path = _find_missing_path(containers, (name, source))
        why = f": {path} is then a path of the image" if path else ""
        yield Violation(("spec", "volumes", at), {"volume": name, "source": source or field, "why": why})


def _find_missing_path(containers: list[tuple[Path, Mapping[str, Any]]], names: tuple[str, ...]) -> str:
    """Return a path of a container that contains the name of a volume, and is on no mount."""
    for _, container in containers:
        for _, text in list_texts(container):
            for found in _PATH.findall(text):
                if mount_of(container, found) is None and not set(names).isdisjoint(found.split("/")):
                    return str(found)
    return ""
