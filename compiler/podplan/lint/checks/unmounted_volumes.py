"""Volumes that an init container fills, and that the containers behind it do not mount.

Source: https://kubernetes.io/docs/tasks/configure-pod-container/configure-pod-initialization/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.findings import Path
from podplan.kubernetes.shape import entries, mapping, text, texts
from podplan.lint.checks._resources import containers, init_containers
from podplan.lint.subject import Hit, Subject
from podplan.patterns import pattern
from podplan.typing import Any

# Where programs keep what only they need.
_SCRATCH = pattern(r"(?:/tmp|/var/tmp|/run|/var/run|/dev/shm|/etc|/root/\..*|/home/[^/]+/\..*|/\..*)(?:/.*)?")
_PATH_IN_TEXT = pattern(r"(?<![\w.$}/-])/[\w.@+-]+(?:/[\w.@+-]+)*")


def unmounted_volume(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A volume that only an init container mounts. Values: ``volume``, ``container``, ``path``, ``why``."""
    group = subject.group
    if group is None:
        return
    inits, apps = init_containers(group), containers(group)
    mounted = {text(mount, "name") for _, app in apps for _, mount in entries(app, "volumeMounts")}
    for position, (path, init) in enumerate(inits):
        later = {
            text(mount, "name")
            for other, (_, each) in enumerate(inits)
            if other != position
            for _, mount in entries(each, "volumeMounts")
        }
        for at, mount in entries(init, "volumeMounts"):
            name, where = text(mount, "name"), text(mount, "mountPath").rstrip("/")
            if name in mounted or name in later or mount.get("readOnly") is True or not where:
                continue
            user = _user(apps, where)
            if user is None and not (
                _is_scratch_volume(subject.data, name) and not _SCRATCH.fullmatch(where)
            ):
                continue
            values = {
                "volume": name,
                "container": text(init, "name"),
                "path": where,
                "why": _why(user),
            }
            related = [(subject.doc, user[0], f"reads {user[1]}")] if user is not None else []
            yield Hit((*path, "volumeMounts", at, "name"), values, related=related)


def _why(user: tuple[Path, str] | None) -> str:
    if user is None:
        return "and nothing of it outlives the init container"
    return f"though a container of the Pod uses {user[1]}, which it then does not have"


def _is_scratch_volume(pod: Mapping[str, Any], name: str) -> bool:
    """Whether a volume is made with the Pod and deleted with it."""
    volumes = entries(mapping(pod, "spec"), "volumes")
    return any(text(volume, "name") == name and "emptyDir" in volume for _, volume in volumes)


def _user(apps: list[tuple[Path, Mapping[str, Any]]], where: str) -> tuple[Path, str] | None:
    """Where a container names a path at or below ``where`` that no mount of it holds."""
    for base, app in apps:
        mounts = [text(mount, "mountPath").rstrip("/") for _, mount in entries(app, "volumeMounts")]
        for path, value in _texts(app):
            for found in _PATH_IN_TEXT.findall(value):
                is_below = found == where or found.startswith(f"{where}/")
                if is_below and not any(found == one or found.startswith(f"{one}/") for one in mounts if one):
                    return (*base, *path), found
    return None


def _texts(container: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for key in ("command", "args"):
        for at, value in texts(container, key):
            yield (key, at), value
    for at, entry in entries(container, "env"):
        yield ("env", at, "value"), text(entry, "value")
    yield ("workingDir",), text(container, "workingDir")
