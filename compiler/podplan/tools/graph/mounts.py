"""The volumes, ConfigMaps and Secrets that Pods use, by name and never by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text

CONFIGURATION_KINDS = ("ConfigMap", "Secret")
_VOLUME_SOURCES = {
    "persistentVolumeClaim": ("PersistentVolumeClaim", "claimName"),
    "configMap": ("ConfigMap", "name"),
    "secret": ("Secret", "secretName"),
    "nfs": ("NFS", "server"),
    "hostPath": ("Folder of the node", "path"),
    "csi": ("CSI volume", "driver"),
}
_PROJECTED_KINDS = {"configMap": "ConfigMap", "secret": "Secret"}
_POD_VOLUMES = ("emptyDir", "downwardAPI")  # of the Pod itself


class ObjectUse(NamedTuple):
    """An object that a Pod uses: its kind, its name, and how the containers get it."""

    kind: str
    name: str
    how: str


def list_object_uses(pod: Mapping[str, Any]) -> list[ObjectUse]:
    """Return the objects that a Pod uses, each use once, in the order of the manifest."""
    return list(
        dict.fromkeys([*_iter_mounted_objects(pod), *_iter_variable_sources(pod), *_iter_image_secrets(pod)])
    )


def list_scratch_volumes(pod: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the emptyDirs of a Pod: ("shm", "256Gi") for memory at /dev/shm, else ("scratch", "/cache
    20Gi")."""
    scratch_volumes = []
    for _, volume in get_entries(pod.get("spec"), "volumes"):
        empty = volume.get("emptyDir")
        if not isinstance(empty, dict):
            continue
        paths = list(dict.fromkeys(path for path, _ in _list_mounts(pod, get_text(volume, "name"))))
        memory, size = empty.get("medium") == "Memory", str(empty.get("sizeLimit") or "")
        if paths == ["/dev/shm"] and memory:
            scratch_volumes.append(("shm", size or "no sizeLimit"))
        elif paths:
            paths_text = ", ".join(paths)
            scratch_volumes.append(
                ("scratch", " ".join(filter(None, (paths_text, size, "in memory" if memory else ""))))
            )
    return scratch_volumes


def _iter_mounted_objects(pod: Mapping[str, Any]) -> Iterator[ObjectUse]:
    for _, volume in get_entries(pod.get("spec"), "volumes"):
        mounts = _list_mounts(pod, get_text(volume, "name"))
        for kind, name, read_only in _iter_volume_objects(volume):
            for path, mount_is_read_only in mounts:
                writable = kind in CONFIGURATION_KINDS or not (read_only or mount_is_read_only)
                yield ObjectUse(kind, name, path if writable else f"{path} read-only")


def _iter_volume_objects(volume: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield the objects behind a volume: kind, name, and whether it is completely read-only."""
    for source, (kind, field) in _VOLUME_SOURCES.items():
        if isinstance(volume.get(source), dict):
            source_data = volume[source]
            path = get_text(source_data, "path") if source == "nfs" else ""
            yield (
                kind,
                ":".join(filter(None, (get_text(source_data, field), path))),
                source_data.get("readOnly") is True,
            )
            return
    if isinstance(volume.get("projected"), dict):
        for _, entry in get_entries(volume["projected"], "sources"):
            for source, kind in _PROJECTED_KINDS.items():
                if isinstance(entry.get(source), dict):
                    yield kind, get_text(entry[source], "name"), False
        return
    if isinstance(volume.get("ephemeral"), dict):
        yield "Claim for each Pod", get_text(volume, "name"), False
        return
    other_source = next((key for key in volume if key != "name" and key not in _POD_VOLUMES), None)
    if other_source is not None:
        yield f"{other_source} volume", get_text(volume, "name"), False


def _list_mounts(pod: Mapping[str, Any], volume: str) -> list[tuple[str, bool]]:
    """Return where the containers mount a volume, and whether read-only."""
    mounts = []
    for field in ("containers", "initContainers"):
        for _, container in get_entries(pod.get("spec"), field):
            for _, mount in get_entries(container, "volumeMounts"):
                if get_text(mount, "name") == volume:
                    mounts.append((get_text(mount, "mountPath"), mount.get("readOnly") is True))
    return list(dict.fromkeys(mounts))


def _iter_variable_sources(pod: Mapping[str, Any]) -> Iterator[ObjectUse]:
    for field in ("containers", "initContainers"):
        for _, container in get_entries(pod.get("spec"), field):
            for _, entry in get_entries(container, "envFrom"):
                for source, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
                    if name := get_text(get_mapping(entry, source), "name"):
                        yield ObjectUse(kind, name, "each key as a variable")
            for _, entry in get_entries(container, "env"):
                origin = get_mapping(entry, "valueFrom")
                for source, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
                    if name := get_text(get_mapping(origin, source), "name"):
                        yield ObjectUse(kind, name, f"${get_text(entry, 'name')}")


def _iter_image_secrets(pod: Mapping[str, Any]) -> Iterator[ObjectUse]:
    for _, entry in get_entries(pod.get("spec"), "imagePullSecrets"):
        if name := get_text(entry, "name"):
            yield ObjectUse("Secret", name, "pulls images")
