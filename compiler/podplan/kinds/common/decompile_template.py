"""A PodTemplateSpec as fields of a role, on plain data: the inverse of ``template``."""

from __future__ import annotations

from collections.abc import Callable

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kinds.common.decompile import Fields, as_list, as_mapping, pick_renamed
from podplan.kinds.common.env import ENV_REFERENCES
from podplan.kinds.common.merge import has_unique_merge_keys
from podplan.kinds.common.volumes import NAMED_VOLUME_SOURCES, SHM_NAME, SHM_PATH

_SOURCE_BY_REFERENCE = {reference: source for source, reference in ENV_REFERENCES.items()}
_PORT_NAME_PATTERN = compile_lazily(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def decompile_pod_template(
    template: Any, name: str, decompile_run: Callable[[Fields], Fields], preferred_name: str = ""
) -> Fields:
    """Return a PodTemplateSpec as fields of a role.

    ``name`` is the name of the training container in compiled templates. ``decompile_run`` removes command
    and args from it and returns the equivalent ``run``. As for the controller, the training container is the
    one called ``preferred_name``, else the first.
    """
    if not isinstance(template, dict):
        return {}
    spec = as_mapping(template.get("spec"))
    containers = as_list(spec.get("containers"))
    if not _can_split_containers(containers):
        return {"pod": template}
    training_index = _find_training_index(containers, preferred_name)
    fields, pod_volumes = _decompile_container(dict(containers[training_index]), name, spec, decompile_run)
    pod_spec = {key: value for key, value in spec.items() if key not in ("containers", "volumes")}
    if training_index:  # the name alone marks the position of the training container
        pod_spec["containers"] = [*containers]
        pod_spec["containers"][training_index] = {"name": preferred_name}
    elif containers[1:]:
        pod_spec["containers"] = containers[1:]
    pod = {**template, "spec": {**pod_spec, **pod_volumes}}
    if not pod["spec"]:
        del pod["spec"]
    return {**fields, "pod": pod} if pod else fields


def _find_training_index(containers: list[Any], preferred_name: str) -> int:
    names = [container.get("name") for container in containers]
    return names.index(preferred_name) if preferred_name in names else 0


def _can_split_containers(containers: list[Any]) -> bool:
    """Whether ``pod`` can add the other containers to the first, which must have fields."""
    if not containers or not isinstance(containers[0], dict) or not containers[0]:
        return False
    return len(containers) == 1 or has_unique_merge_keys("containers", containers)


def _decompile_container(
    container: Fields, name: str, spec: Fields, decompile_run: Callable[[Fields], Fields]
) -> tuple[Fields, Fields]:
    """Return the fields from the training container, and the volumes of the Pod that they do not express."""
    fields: Fields = {}
    name_field = {"name": container.pop("name", None)}
    fields |= decompile_run(container)
    for field in ("image", "workingDir"):
        if isinstance(container.get(field), str) and container[field]:
            fields[field] = container.pop(field)
    if (
        set(as_mapping(container.get("resources"))) <= {"limits", "requests", "claims"}
        and "resources" in container
    ):
        fields["resources"] = container.pop("resources")
    _move_list(container, "env", fields, *decompile_env(as_list(container.get("env"))))
    _move_list(container, "ports", fields, *decompile_ports(as_list(container.get("ports"))))
    data, volumes, mounts = decompile_volumes(
        as_list(spec.get("volumes")), as_list(container.get("volumeMounts"))
    )
    if data and not mounts and not volumes and _is_shm_entry(data[-1]):
        fields["shm"] = data.pop()["emptyDir"]["sizeLimit"]
    _move_list(container, "volumeMounts", fields, None, mounts)
    if data:
        fields["data"] = data
    if name_field["name"] != name or not (fields or container):
        container = name_field | container
    return ({**fields, "container": container} if container else fields), (
        {"volumes": volumes} if volumes or spec.get("volumes") == [] else {}
    )


def _move_list(container: Fields, key: str, fields: Fields, value: Any, remaining: list[Any]) -> None:
    """Move the part of a list that was understood to ``fields``, and keep the rest in the container."""
    if value:
        fields[key] = value
    if remaining:
        container[key] = remaining
    elif as_list(container.get(key)):
        del container[key]


def decompile_env(entries: list[Any]) -> tuple[Fields, list[Any]]:
    """Return the leading variables of a container as ``env``, and the rest from the first that has no such
    form."""
    if not has_unique_merge_keys("env", entries):
        return {}, entries
    env: Fields = {}
    for i, entry in enumerate(entries):
        value = _decompile_env_value(entry)
        if value is None or not isinstance(entry["name"], str):
            return env, entries[i:]
        env[entry["name"]] = value
    return env, []


def _decompile_env_value(entry: Fields) -> Any:
    if set(entry) == {"name", "value"} and isinstance(entry["value"], str):
        return entry["value"]
    source = as_mapping(entry.get("valueFrom"))
    if set(entry) != {"name", "valueFrom"} or len(source) != 1:
        return None
    [(kind, reference)] = source.items()
    if kind == "fieldRef" and set(as_mapping(reference)) == {"fieldPath"}:
        return {"field": reference["fieldPath"]}
    if kind in _SOURCE_BY_REFERENCE and set(as_mapping(reference)) == {"name", "key"}:
        name, key = reference["name"], reference["key"]
        if all(isinstance(part, str) and part and "/" not in part for part in (name, key)):
            return {_SOURCE_BY_REFERENCE[kind]: f"{name}/{key}"}
    return None


def decompile_ports(entries: list[Any]) -> tuple[list[Fields], list[Any]]:
    """Return the leading ports of a container as ``ports``, and the rest from the first that has no such
    form."""
    if not has_unique_merge_keys("ports", entries):
        return [], entries
    ports: list[Fields] = []
    for i, fields in enumerate(entries):
        is_plain_port = {"name", "containerPort"} <= set(fields) <= {"name", "containerPort", "protocol"}
        name = str(fields.get("name"))
        if (
            not is_plain_port
            or not _PORT_NAME_PATTERN.fullmatch(name)
            or name in (port["name"] for port in ports)
        ):
            return ports, entries[i:]
        ports.append(pick_renamed(fields, {"name": "name", "containerPort": "port", "protocol": "protocol"}))
    return ports, []


def decompile_volumes(volumes: list[Any], mounts: list[Any]) -> tuple[list[Fields], list[Any], list[Any]]:
    """Return volumes and mounts as ``data``, as long as both are in the same order, and the rest of both."""
    if not has_unique_merge_keys("volumes", volumes) or not has_unique_merge_keys("volumeMounts", mounts):
        return [], volumes, mounts
    data: list[Fields] = []
    mount_index = 0
    names = [mount.get("name") for mount in mounts]
    for i, volume in enumerate(volumes):
        entry = _decompile_volume(volume)
        if entry is None:
            return data, volumes[i:], mounts[mount_index:]
        if mount_index < len(mounts) and names[mount_index] == entry["name"]:
            mount = _decompile_mount(mounts[mount_index])
            if mount is None:
                return data, volumes[i:], mounts[mount_index:]
            entry |= mount
            mount_index += 1
        data.append(entry)
    return data, [], mounts[mount_index:]


def _decompile_volume(volume: Fields) -> Fields | None:
    """Return a volume as an entry of ``data`` without its mount, or None if it has no such form."""
    name, sources = volume.get("name"), {key: value for key, value in volume.items() if key != "name"}
    if not isinstance(name, str) or len(sources) != 1:
        return None
    [(kind, source)] = sources.items()
    for field, (spelled, key) in NAMED_VOLUME_SOURCES.items():
        if kind == spelled and set(as_mapping(source)) == {key} and isinstance(source[key], str):
            return {"name": name, field: source[key]}
    if kind == "emptyDir" and set(as_mapping(source)) <= {"medium", "sizeLimit"} and source is not None:
        return {"name": name, "emptyDir": source}
    return {"name": name, "volume": sources}


def _decompile_mount(mount: Fields) -> Fields | None:
    if not {"mountPath"} <= set(mount) <= {"name", "mountPath", "subPath", "readOnly"}:
        return None
    return pick_renamed(mount, {"mountPath": "mount", "subPath": "subPath", "readOnly": "readOnly"})


def _is_shm_entry(entry: Fields) -> bool:
    """Whether ``shm`` can express this entry."""
    return set(entry) == {"name", "emptyDir", "mount"} and (
        (entry["name"], entry["mount"]) == (SHM_NAME, SHM_PATH)
        and set(as_mapping(entry["emptyDir"])) == {"medium", "sizeLimit"}
        and entry["emptyDir"]["medium"] == "Memory"
    )
