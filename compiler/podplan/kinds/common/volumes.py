"""``data``, ``shm`` and ``ports`` of a profile as volumes, mounts and ports."""

from __future__ import annotations

from podplan.core.findings import Problem
from podplan.core.provenance import Cursor, at
from podplan.core.typing import Any
from podplan.kinds.common.merge import without_nulls
from podplan.kinds.common.profile import Role, enumeration
from podplan.kinds.t9k import behaviors

Tree = dict[str, Any]

SHM_NAME, SHM_PATH = "dshm", "/dev/shm"
# The source in the profile, its name in a Kubernetes volume, and the field that a plain name stands for.
NAMED_SOURCES = {
    "pvc": ("persistentVolumeClaim", "claimName"),
    "configMap": ("configMap", "name"),
    "secret": ("secret", "secretName"),
    "hostPath": ("hostPath", "path"),
}
SOURCES = (*NAMED_SOURCES, "emptyDir", "volume")


def named_entries(role: Role, field: str) -> list[tuple[Cursor, dict[str, Cursor]]]:
    """The entries of ``data`` or ``ports`` of a role over those of the spec, by name: where, and fields."""
    entries: dict[str, tuple[Cursor, dict[str, Cursor]]] = {}
    for entries_of in role.both(field):
        for entry in entries_of.entries():
            if not entry.get("name").exists:
                continue  # its form is wrong, and the schema says so
            name = str(entry.get("name").value)
            below = entries[name][1] if name in entries else {}
            entries[name] = (entry, {**below, **entry.fields()})
    return list(entries.values())


def volumes(role: Role, size: Any, problems: list[Problem]) -> tuple[list[Any], list[Any]]:
    """The volumes of a role and their mounts, in the order of ``data``; ``size`` is that of /dev/shm."""
    given, mounted = [], []
    taken = False
    for where, fields in named_entries(role, "data"):
        source = _source(where, fields, problems)
        if source is None:
            continue
        taken = taken or fields["name"].value == SHM_NAME or _path(fields) == SHM_PATH
        given.append(at(where, {"name": fields["name"], **source}))
        if "mount" in fields:
            mount = {"name": fields["name"], "mountPath": fields["mount"]}
            mounted.append(at(where, {**mount, **_only(fields, "subPath", "readOnly")}))
    if size is None or (taken and not role.get("shm").exists):
        return given, mounted
    if taken:
        problems.append(Problem("PROF021", _SHM_TWICE, role.get("shm").path, on_key=True))
        return given, mounted
    memory = {"medium": "Memory", "sizeLimit": size}
    why = (behaviors.SHM_VOLUME, role.get("shm") if role.get("shm").exists else role.get("hardware"))
    given.append(at(why, {"name": SHM_NAME, "emptyDir": memory}))
    mounted.append(at(why, {"name": SHM_NAME, "mountPath": SHM_PATH}))
    return given, mounted


def container_ports(role: Role) -> list[Any]:
    """``ports`` as those of the training container."""
    return [
        at(where, {"name": fields["name"], "containerPort": fields["port"], **_only(fields, "protocol")})
        for where, fields in named_entries(role, "ports")
        if "port" in fields
    ]


_SHM_TWICE = f"data already has a volume called {SHM_NAME} or mounted at {SHM_PATH}; drop it or shm"


def _source(where: Cursor, fields: dict[str, Cursor], problems: list[Problem]) -> Tree | None:
    """The source of a volume as Kubernetes spells it; None with a problem unless there is exactly one."""
    written = [source for source in SOURCES if source in fields]
    if len(written) != 1:
        said = f"both {enumeration(written)}" if written else "none"
        listed = enumeration(list(SOURCES), "or")
        message = f"a volume has one source, and this one has {said}; write one of {listed}"
        problems.append(Problem("PROF021", message, where.path))
        return None
    place = fields[written[0]]
    if written[0] in NAMED_SOURCES:
        key, field = NAMED_SOURCES[written[0]]
        return {key: at(place, {field: place})}
    if written[0] == "volume":
        return {key: without_nulls(value) for key, value in place.fields().items() if key != "name"}
    return {"emptyDir": without_nulls(place)}


def _path(fields: dict[str, Cursor]) -> Any:
    return fields["mount"].value if "mount" in fields else None


def _only(fields: dict[str, Cursor], *names: str) -> Tree:
    return {name: fields[name] for name in names if name in fields}
