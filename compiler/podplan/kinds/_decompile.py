"""Parts of a CR as fields of a profile: what compiling does, backwards, on plain data.

Nothing here must be complete. What no field says stays out, and ``podplan.importing`` finds it by compiling
the result and comparing; so each function takes only what compiles back to the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from podplan import facts
from podplan.kinds._hardware import gpu_count
from podplan.kinds._volumes import NAMED_SOURCES, SHM_NAME, SHM_PATH

Fields = dict[str, Any]

FIELD_ORDER = (
    *("job", "image", "run", "launcher", "processes", "replicas", "hardware", "resources", "elastic", "env"),
    *("data", "shm", "workingDir", "ports", "schedule", "restart", "deadline", "retries", "cleanUp", "mode"),
    *("debug", "resume", "torchrun", "tensorboard", "deepspeed", "colossalai", "generic", "container", "pod"),
    *("roles", "override"),
)
_ROLE_ORDER = ("name", "replicas", "scalingWeight")
_ENV_REFERENCES = {"secretKeyRef": "secret", "configMapKeyRef": "configMap"}
_PORT_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def in_order(fields: Fields, first: tuple[str, ...] = ()) -> Fields:
    """``fields`` in the order in which a profile is read."""
    order = (*first, *(field for field in FIELD_ORDER if field not in first))
    return {field: fields[field] for field in order if field in fields}


def mapping(value: Any) -> Fields:
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def is_words(value: Any) -> bool:
    """Whether ``value`` is a list of strings."""
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def picked(source: Any, names: dict[str, str]) -> Fields:
    """The keys of a map that are there, under the names that ``names`` gives them."""
    return {new: source[old] for old, new in names.items() if old in mapping(source)}


# --- roles ----------------------------------------------------------------------------------------


def with_roles(roles: list[Fields], default: str = "worker") -> Fields:
    """The fields that all roles share, and ``roles`` with the rest, where there is any."""
    if not roles:
        return {}
    shared = {
        field: value
        for field, value in roles[0].items()
        if field not in ("name", "scalingWeight")
        and (len(roles) == 1 or field != "replicas")
        and all(field in role and same(role[field], value) for role in roles)
    }
    rest = [{field: value for field, value in role.items() if field not in shared} for role in roles]
    if len(rest) == 1 and rest[0] == {"name": default}:
        return shared
    return {**shared, "roles": [in_order(role, _ROLE_ORDER) for role in rest]}


def same(left: Any, right: Any) -> bool:
    """Whether two pieces of data are the same as JSON: 1, 1.0, true and "1" all differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and bool(left == right)


# --- template -------------------------------------------------------------------------------------


def template_fields(template: Any, name: str, run: Callable[[Fields], Fields]) -> Fields:
    """A PodTemplateSpec as fields of a role.

    ``name`` is what the kind calls the training container, and ``run`` takes command and args out of it and
    gives the ``run`` that says the same.
    """
    if not isinstance(template, dict):
        return {}
    spec = mapping(template.get("spec"))
    containers = listed(spec.get("containers"))
    if not _mergeable(containers):
        return {"pod": template}
    fields, rest = _container_fields(dict(containers[0]), name, spec, run)
    rest_of_spec = {key: value for key, value in spec.items() if key not in ("containers", "volumes")}
    if containers[1:]:
        rest_of_spec["containers"] = containers[1:]
    pod = {**template, "spec": {**rest_of_spec, **rest}}
    if not pod["spec"]:
        del pod["spec"]
    return {**fields, "pod": pod} if pod else fields


def _mergeable(containers: list[Any]) -> bool:
    """Whether ``pod`` can add the other containers to the first: all have names of their own."""
    if not containers or not all(isinstance(container, dict) and container for container in containers):
        return False
    names = [container.get("name") for container in containers]
    return len(names) == 1 or (all(isinstance(name, str) for name in names) and len(set(names)) == len(names))


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
    env, rest = env_fields(listed(container.get("env")))
    _take(container, "env", fields, env, rest)
    ports, rest = port_fields(listed(container.get("ports")))
    _take(container, "ports", fields, ports, rest)
    data, volumes, mounts = data_fields(listed(spec.get("volumes")), listed(container.get("volumeMounts")))
    if data and not mounts and not volumes and _is_shm(data[-1]):
        fields["shm"] = data.pop()["emptyDir"]["sizeLimit"]
    _take(container, "volumeMounts", fields, None, mounts)
    if data:
        fields["data"] = data
    extras = ({} if renamed["name"] == name else renamed) | container
    return ({**fields, "container": extras} if extras else fields), (
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
    env: Fields = {}
    for i, entry in enumerate(entries):
        value = _env_value(mapping(entry))
        if value is None or not isinstance(entry.get("name"), str) or entry["name"] in env:
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
    ports: list[Fields] = []
    for i, entry in enumerate(entries):
        fields = mapping(entry)
        plain = {"name", "containerPort"} <= set(fields) <= {"name", "containerPort", "protocol"}
        name = str(fields.get("name"))
        if not plain or not _PORT_NAME.fullmatch(name) or name in (port["name"] for port in ports):
            return ports, entries[i:]
        ports.append(picked(fields, {"name": "name", "containerPort": "port", "protocol": "protocol"}))
    return ports, []


def data_fields(volumes: list[Any], mounts: list[Any]) -> tuple[list[Fields], list[Any], list[Any]]:
    """Volumes and mounts as ``data``, as far as both are in the same order, and the rest of both."""
    data: list[Fields] = []
    mounted = 0
    names = [mapping(mount).get("name") for mount in mounts]
    for i, volume in enumerate(volumes):
        entry = _data_entry(mapping(volume))
        if entry is None or any(entry["name"] == other["name"] for other in data):
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


# --- policies -------------------------------------------------------------------------------------


def schedule_fields(spec: Fields) -> Fields:
    section = mapping(spec.get("scheduler")).get("t9kScheduler")
    return {"schedule": section} if isinstance(section, dict) else {}


def run_policy_fields(spec: Fields) -> Fields:
    policy = mapping(spec.get("runPolicy"))
    fields = picked(policy, {"backoffLimit": "retries", "cleanUpPolicy": "cleanUp"})
    seconds = policy.get("activeDeadlineSeconds")
    return {**fields, "deadline": duration(seconds)} if type(seconds) is int and seconds > 0 else fields


def duration(seconds: int) -> str | int:
    """Whole hours or minutes as a duration, other seconds as they are."""
    for unit, name in ((3_600, "h"), (60, "m")):
        if seconds % unit == 0:
            return f"{seconds // unit}{name}"
    return seconds


def restart_fields(entry: Fields) -> Fields:
    """A RestartPolicy with policy and limit."""
    return picked(entry.get("restartPolicy"), {"policy": "restart", "limit": "retries"})


def elastic_fields(spec: Fields) -> Fields:
    written = mapping(spec.get("elastic"))
    names = {"minReplicas": "min", "maxReplicas": "max", "expectedReplicas": "replicas"}
    return {"elastic": picked(written, names)} if written.get("enabled") is True else {}


def mode_fields(spec: Fields, roles: list[Fields]) -> Fields:
    """``mode``; what the roles do in debug mode and on resuming is added to the ``roles``."""
    mode = mapping(spec.get("runMode"))
    debug, pause = mapping(mode.get("debug")), mapping(mode.get("pause"))
    by_name = {role["name"]: role for role in roles}
    for entries, field in ((debug.get("replicaSpecs"), "debug"), (pause.get("resumeSpecs"), "resume")):
        for entry in listed(entries):
            role = by_name.get(str(mapping(entry).get("type")))
            if role is not None and len(entry) > 1:
                role[field] = {key: value for key, value in entry.items() if key != "type"}
    if pause.get("enabled") is True:
        return {"mode": "pause"}
    if debug.get("enabled") is True:
        return {"mode": "debug"}
    for section, field in ((debug, "debug"), (pause, "resume")):
        if section.get("enabled") is False and not any(field in role for role in roles):
            for role in roles:
                role[field] = {}
    return {"mode": "immediate"} if False in (debug.get("enabled"), pause.get("enabled")) else {}


def processes_field(count: Any, roles: list[Fields]) -> Fields:
    """``processes``: auto where it is the number of GPUs of every role."""
    if type(count) is not int or count < 1:
        return {}
    gpus = {
        gpu_count(mapping(role.get("resources")).get("limits"), facts.GPU_RESOURCES.value) for role in roles
    }
    return {"processes": "auto" if gpus == {count} else count}
