"""What Pods are given from outside: volumes, ConfigMaps and Secrets, by name and never by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import entries, mapping, text

LEFT = ("ConfigMap", "Secret")
_SOURCES = {
    "persistentVolumeClaim": ("PersistentVolumeClaim", "claimName"),
    "configMap": ("ConfigMap", "name"),
    "secret": ("Secret", "secretName"),
    "nfs": ("NFS", "server"),
    "hostPath": ("Folder of the node", "path"),
    "csi": ("CSI volume", "driver"),
}
_PROJECTED = {"configMap": "ConfigMap", "secret": "Secret"}
_INSIDE = ("emptyDir", "downwardAPI")  # of the Pod itself


class Given(NamedTuple):
    """Something that a Pod is given: a kind of object, its name, and how it reaches the containers."""

    kind: str
    name: str
    how: str


def given(pod: Mapping[str, Any]) -> list[Given]:
    """What a Pod is given, each way once, in the order of the manifest."""
    return list(dict.fromkeys([*_mounted(pod), *_in_variables(pod), *_for_images(pod)]))


def scratch(pod: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The emptyDirs of a Pod: ("shm", "256Gi") for memory at /dev/shm, else ("scratch", "/cache 20Gi")."""
    found = []
    for _, volume in entries(pod.get("spec"), "volumes"):
        empty = volume.get("emptyDir")
        if not isinstance(empty, dict):
            continue
        paths = list(dict.fromkeys(path for path, _ in _mounts(pod, text(volume, "name"))))
        memory, size = empty.get("medium") == "Memory", str(empty.get("sizeLimit") or "")
        if paths == ["/dev/shm"] and memory:
            found.append(("shm", size or "no sizeLimit"))
        elif paths:
            where = ", ".join(paths)
            found.append(("scratch", " ".join(filter(None, (where, size, "in memory" if memory else "")))))
    return found


def _mounted(pod: Mapping[str, Any]) -> Iterator[Given]:
    for _, volume in entries(pod.get("spec"), "volumes"):
        mounts = _mounts(pod, text(volume, "name"))
        for kind, name, read_only in _objects(volume):
            for path, mount_is_read_only in mounts:
                writable = kind in LEFT or not (read_only or mount_is_read_only)
                yield Given(kind, name, path if writable else f"{path} read-only")


def _objects(volume: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """The objects behind a volume: kind, name, and whether all of it is read-only."""
    for source, (kind, field) in _SOURCES.items():
        if isinstance(volume.get(source), dict):
            found = volume[source]
            path = text(found, "path") if source == "nfs" else ""
            yield kind, ":".join(filter(None, (text(found, field), path))), found.get("readOnly") is True
            return
    if isinstance(volume.get("projected"), dict):
        for _, entry in entries(volume["projected"], "sources"):
            for source, kind in _PROJECTED.items():
                if isinstance(entry.get(source), dict):
                    yield kind, text(entry[source], "name"), False
        return
    if isinstance(volume.get("ephemeral"), dict):
        yield "Claim for each Pod", text(volume, "name"), False
        return
    other = next((key for key in volume if key != "name" and key not in _INSIDE), None)
    if other is not None:
        yield f"{other} volume", text(volume, "name"), False


def _mounts(pod: Mapping[str, Any], volume: str) -> list[tuple[str, bool]]:
    """Where the containers mount a volume, and whether only for reading."""
    found = []
    for field in ("containers", "initContainers"):
        for _, container in entries(pod.get("spec"), field):
            for _, mount in entries(container, "volumeMounts"):
                if text(mount, "name") == volume:
                    found.append((text(mount, "mountPath"), mount.get("readOnly") is True))
    return list(dict.fromkeys(found))


def _in_variables(pod: Mapping[str, Any]) -> Iterator[Given]:
    for field in ("containers", "initContainers"):
        for _, container in entries(pod.get("spec"), field):
            for _, entry in entries(container, "envFrom"):
                for source, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
                    if name := text(mapping(entry, source), "name"):
                        yield Given(kind, name, "each key as a variable")
            for _, entry in entries(container, "env"):
                origin = mapping(entry, "valueFrom")
                for source, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
                    if name := text(mapping(origin, source), "name"):
                        yield Given(kind, name, f"${text(entry, 'name')}")


def _for_images(pod: Mapping[str, Any]) -> Iterator[Given]:
    for _, entry in entries(pod.get("spec"), "imagePullSecrets"):
        if name := text(entry, "name"):
            yield Given("Secret", name, "pulls images")
