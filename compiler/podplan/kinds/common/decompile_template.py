"""A PodTemplateSpec as fields of a role: ``_template`` backwards, on plain data."""

from __future__ import annotations

from collections.abc import Callable

from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any
from podplan.kinds.common.decompile import Fields, listed, mapping, picked
from podplan.kinds.common.env import REFERENCES
from podplan.kinds.common.merge import mergeable
from podplan.kinds.common.volumes import NAMED_SOURCES, SHM_NAME, SHM_PATH

_ENV_REFERENCES = {reference: source for source, reference in REFERENCES.items()}
_PORT_NAME = pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def template_fields(template: Any, name: str, run: Callable[[Fields], Fields], preferred: str = "") -> Fields:
    """A PodTemplateSpec as fields of a role.

    ``name`` is what compiling calls the training container, and ``run`` takes command and args out of it and
    gives the ``run`` that says the same. The training container is the one called ``preferred``, else the
    first, as it is for the controller.
    """
    if not isinstance(template, dict):
        return {}
    spec = mapping(template.get("spec"))
    containers = listed(spec.get("containers"))
    if not _separable(containers):
        return {"pod": template}
    trains = _training_index(containers, preferred)
    fields, rest = _container_fields(dict(containers[trains]), name, spec, run)
    rest_of_spec = {key: value for key, value in spec.items() if key not in ("containers", "volumes")}
    if trains:  # its name alone says where it stands
        rest_of_spec["containers"] = [*containers]
        rest_of_spec["containers"][trains] = {"name": preferred}
    elif containers[1:]:
        rest_of_spec["containers"] = containers[1:]
    pod = {**template, "spec": {**rest_of_spec, **rest}}
    if not pod["spec"]:
        del pod["spec"]
    return {**fields, "pod": pod} if pod else fields


def _training_index(containers: list[Any], preferred: str) -> int:
    names = [container.get("name") for container in containers]
    return names.index(preferred) if preferred in names else 0


def _separable(containers: list[Any]) -> bool:
    """Whether ``pod`` can add the other containers to the first, which has to have fields."""
    if not containers or not isinstance(containers[0], dict) or not containers[0]:
        return False
    return len(containers) == 1 or mergeable("containers", containers)


def _container_fields(
    container: Fields, name: str, spec: Fields, run: Callable[[Fields], Fields]
) -> tuple[Fields, Fields]:
    """The fields that the training container gives, and the volumes of the Pod that they do not say."""
    fields: Fields = {}
    renamed = {"name": container.pop("name", None)}
    fields |= run(container)
    for field in ("image", "workingDir"):
        if isinstance(container.get(field), str) and container[field]:
            fields[field] = container.pop(field)
    if (
        set(mapping(container.get("resources"))) <= {"limits", "requests", "claims"}
        and "resources" in container
    ):
        fields["resources"] = container.pop("resources")
    _take(container, "env", fields, *env_fields(listed(container.get("env"))))
    _take(container, "ports", fields, *port_fields(listed(container.get("ports"))))
    data, volumes, mounts = data_fields(listed(spec.get("volumes")), listed(container.get("volumeMounts")))
    if data and not mounts and not volumes and _is_shm(data[-1]):
        fields["shm"] = data.pop()["emptyDir"]["sizeLimit"]
    _take(container, "volumeMounts", fields, None, mounts)
    if data:
        fields["data"] = data
    if renamed["name"] != name or not (fields or container):
        container = renamed | container
    return ({**fields, "container": container} if container else fields), (
        {"volumes": volumes} if volumes or spec.get("volumes") == [] else {}
    )


def _take(container: Fields, key: str, fields: Fields, value: Any, rest: list[Any]) -> None:
    """Moves what was understood of a list to ``fields``, and leaves the rest in the container."""
    if value:
        fields[key] = value
    if rest:
        container[key] = rest
    elif listed(container.get(key)):
        del container[key]


def env_fields(entries: list[Any]) -> tuple[Fields, list[Any]]:
    """The first variables of a container as ``env``, and those from the first on that it cannot say."""
    if not mergeable("env", entries):
        return {}, entries
    env: Fields = {}
    for i, entry in enumerate(entries):
        value = _env_value(entry)
        if value is None or not isinstance(entry["name"], str):
            return env, entries[i:]
        env[entry["name"]] = value
    return env, []


def _env_value(entry: Fields) -> Any:
    if set(entry) == {"name", "value"} and isinstance(entry["value"], str):
        return entry["value"]
    source = mapping(entry.get("valueFrom"))
    if set(entry) != {"name", "valueFrom"} or len(source) != 1:
        return None
    [(kind, reference)] = source.items()
    if kind == "fieldRef" and set(mapping(reference)) == {"fieldPath"}:
        return {"field": reference["fieldPath"]}
    if kind in _ENV_REFERENCES and set(mapping(reference)) == {"name", "key"}:
        name, key = reference["name"], reference["key"]
        if all(isinstance(part, str) and part and "/" not in part for part in (name, key)):
            return {_ENV_REFERENCES[kind]: f"{name}/{key}"}
    return None


def port_fields(entries: list[Any]) -> tuple[list[Fields], list[Any]]:
    """The first ports of a container as ``ports``, and those from the first on that it cannot say."""
    if not mergeable("ports", entries):
        return [], entries
    ports: list[Fields] = []
    for i, fields in enumerate(entries):
        plain = {"name", "containerPort"} <= set(fields) <= {"name", "containerPort", "protocol"}
        name = str(fields.get("name"))
        if not plain or not _PORT_NAME.fullmatch(name) or name in (port["name"] for port in ports):
            return ports, entries[i:]
        ports.append(picked(fields, {"name": "name", "containerPort": "port", "protocol": "protocol"}))
    return ports, []


def data_fields(volumes: list[Any], mounts: list[Any]) -> tuple[list[Fields], list[Any], list[Any]]:
    """Volumes and mounts as ``data``, as far as both are in the same order, and the rest of both."""
    if not mergeable("volumes", volumes) or not mergeable("volumeMounts", mounts):
        return [], volumes, mounts
    data: list[Fields] = []
    mounted = 0
    names = [mount.get("name") for mount in mounts]
    for i, volume in enumerate(volumes):
        entry = _data_entry(volume)
        if entry is None:
            return data, volumes[i:], mounts[mounted:]
        if mounted < len(mounts) and names[mounted] == entry["name"]:
            mount = _mount_fields(mounts[mounted])
            if mount is None:
                return data, volumes[i:], mounts[mounted:]
            entry |= mount
            mounted += 1
        data.append(entry)
    return data, [], mounts[mounted:]


def _data_entry(volume: Fields) -> Fields | None:
    """A volume as an entry of ``data`` without its mount."""
    name, sources = volume.get("name"), {key: value for key, value in volume.items() if key != "name"}
    if not isinstance(name, str) or len(sources) != 1:
        return None
    [(kind, source)] = sources.items()
    for field, (spelled, key) in NAMED_SOURCES.items():
        if kind == spelled and set(mapping(source)) == {key} and isinstance(source[key], str):
            return {"name": name, field: source[key]}
    if kind == "emptyDir" and set(mapping(source)) <= {"medium", "sizeLimit"} and source is not None:
        return {"name": name, "emptyDir": source}
    return {"name": name, "volume": sources}


def _mount_fields(mount: Fields) -> Fields | None:
    if not {"mountPath"} <= set(mount) <= {"name", "mountPath", "subPath", "readOnly"}:
        return None
    return picked(mount, {"mountPath": "mount", "subPath": "subPath", "readOnly": "readOnly"})


def _is_shm(entry: Fields) -> bool:
    """Whether ``shm`` says the same as this entry."""
    return set(entry) == {"name", "emptyDir", "mount"} and (
        (entry["name"], entry["mount"]) == (SHM_NAME, SHM_PATH)
        and set(mapping(entry["emptyDir"])) == {"medium", "sizeLimit"}
        and entry["emptyDir"]["medium"] == "Memory"
    )
