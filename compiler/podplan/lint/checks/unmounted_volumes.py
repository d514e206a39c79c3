"""Volumes that an init container fills, and that later containers do not mount.

Source: https://kubernetes.io/docs/tasks/configure-pod-container/configure-pod-initialization/.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.lint.analysis.resources import list_containers, list_init_containers
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

DEEPEST = 20  # parent folders of a path that are compared with mounts
# Folders with files that only the program itself needs.
_SCRATCH = compile_lazily(
    r"(?:/tmp|/var/tmp|/run|/var/run|/dev/shm|/etc|/root/\..*|/home/[^/]+/\..*|/\..*)(?:/.*)?"
)
_PATH_IN_TEXT = compile_lazily(r"(?<![\w.$}/-])/[\w.@+-]+(?:/[\w.@+-]+)*")


@check()
def unmounted_volume(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A volume that only an init container mounts. Values: ``volume``, ``container``, ``path``, ``why``."""
    group = subject.group
    inits = list_init_containers(group) if group is not None else []
    if group is None or not inits:
        return
    users = Counter(
        name for _, one in (*inits, *list_containers(group)) for name in _list_mounted_volumes(one)
    )
    scratch = _scratch_volumes(subject.data)
    missing: Mapping[str, tuple[Path, str]] | None = None
    for path, init in inits:
        for at, mount in get_entries(init, "volumeMounts"):
            name, where = get_text(mount, "name"), get_text(mount, "mountPath").rstrip("/")
            if users[name] > 1 or mount.get("readOnly") is True or not where or _is_sidecar(init):
                continue
            missing = _missing(list_containers(group)) if missing is None else missing
            user = missing.get(where)
            if user is None and (name not in scratch or _SCRATCH.fullmatch(where)):
                continue
            values = {"volume": name, "container": get_text(init, "name"), "path": where, "why": _why(user)}
            related = [(subject.doc, user[0], f"reads {user[1]}")] if user is not None else []
            yield Violation((*path, "volumeMounts", at, "name"), values, related=related)


def _is_sidecar(init: Mapping[str, Any]) -> bool:
    """Whether an init container keeps running with the others, so that it may use its volume itself."""
    return init.get("restartPolicy") == "Always"


def _list_mounted_volumes(container: Mapping[str, Any]) -> set[str]:
    return {get_text(mount, "name") for _, mount in get_entries(container, "volumeMounts")}


def _why(user: tuple[Path, str] | None) -> str:
    if user is None:
        return "so no other container sees its files"
    return f"though a container of the Pod uses {user[1]}, which does not exist there"


def _scratch_volumes(pod: Mapping[str, Any]) -> set[str]:
    """Return the volumes that are created and deleted with the Pod."""
    volumes = get_entries(get_mapping(pod, "spec"), "volumes")
    return {get_text(volume, "name") for _, volume in volumes if "emptyDir" in volume}


def _missing(apps: list[tuple[Path, Mapping[str, Any]]]) -> dict[str, tuple[Path, str]]:
    """Return the paths of containers outside of their mounts, by each parent folder."""
    missing: dict[str, tuple[Path, str]] = {}
    for base, app in apps:
        mounts = {
            get_text(mount, "mountPath").rstrip("/") for _, mount in get_entries(app, "volumeMounts")
        } - {""}
        for path, value in list_texts(app):
            for found in _PATH_IN_TEXT.findall(value):
                folders = list_folders(found)
                if mounts.isdisjoint(folders):
                    for folder in folders:
                        missing.setdefault(folder, ((*base, *path), found))
    return missing


def list_folders(path: str) -> list[str]:
    """Return a path and its parent folders, up to DEEPEST steps from the root."""
    steps = path.strip("/").split("/")[:DEEPEST]
    return [path, *("/" + "/".join(steps[:end]) for end in range(1, len(steps)))]


def list_texts(container: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for key in ("command", "args"):
        for at, value in get_texts(container, key):
            yield (key, at), value
    for at, entry in get_entries(container, "env"):
        yield ("env", at, "value"), get_text(entry, "value")
    yield ("workingDir",), get_text(container, "workingDir")
