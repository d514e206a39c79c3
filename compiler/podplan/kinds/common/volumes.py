"""``data``, ``shm`` and ``ports`` of a profile as volumes, mounts and ports."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to
from podplan.core.typing import Any
from podplan.core.wording import join_words
from podplan.kinds.common import behaviors
from podplan.kinds.common.merge import drop_nulls
from podplan.kinds.common.profile import ProfileRole

TracedMap = dict[str, Any]

SHM_NAME, SHM_PATH = "dshm", "/dev/shm"
# The source in the profile, its name in a Kubernetes volume, and the field that a plain name sets.
NAMED_VOLUME_SOURCES = {
    "pvc": ("persistentVolumeClaim", "claimName"),
    "configMap": ("configMap", "name"),
    "secret": ("secret", "secretName"),
    "hostPath": ("hostPath", "path"),
}
VOLUME_SOURCES = (*NAMED_VOLUME_SOURCES, "emptyDir", "volume")


def merge_named_entries(role: ProfileRole, field: str) -> list[tuple[Cursor, dict[str, Cursor]]]:
    """Return the entries of ``data`` or ``ports`` of a role merged over those of the spec, by name."""
    entries: dict[str, tuple[Cursor, dict[str, Cursor]]] = {}
    for layer in role.get_layers(field):
        for entry in layer.entries():
            if not entry.get("name").exists:
                continue  # the schema reports its form
            name = str(entry.get("name").value)
            inherited = entries[name][1] if name in entries else {}
            entries[name] = (entry, {**inherited, **entry.fields()})
    return list(entries.values())


def build_volumes(
    role: ProfileRole, shm_size: Any, diagnostics: list[Diagnostic]
) -> tuple[list[Any], list[Any]]:
    """Return the volumes of a role and their mounts, in the order of ``data``; ``shm_size`` is that of
    /dev/shm."""
    volume_entries, mount_entries = [], []
    has_shm_volume = False
    for entry, fields in merge_named_entries(role, "data"):
        source = _build_volume_source(entry, fields, diagnostics)
        if source is None:
            continue
        has_shm_volume = (
            has_shm_volume or fields["name"].value == SHM_NAME or _get_mount_path(fields) == SHM_PATH
        )
        volume_entries.append(attribute_to(entry, {"name": fields["name"], **source}))
        if "mount" in fields:
            mount = {"name": fields["name"], "mountPath": fields["mount"]}
            mount_entries.append(
                attribute_to(entry, {**mount, **_pick_fields(fields, "subPath", "readOnly")})
            )
    if shm_size is None or (has_shm_volume and not role.get_field("shm").exists):
        return volume_entries, mount_entries
    if has_shm_volume:
        diagnostics.append(
            Diagnostic("PROF021", _DUPLICATE_SHM_MESSAGE, role.get_field("shm").path, on_key=True)
        )
        return volume_entries, mount_entries
    shm_source = {"medium": "Memory", "sizeLimit": shm_size}
    origins = (
        behaviors.SHM_VOLUME,
        role.get_field("shm") if role.get_field("shm").exists else role.get_field("hardware"),
    )
    volume_entries.append(attribute_to(origins, {"name": SHM_NAME, "emptyDir": shm_source}))
    mount_entries.append(attribute_to(origins, {"name": SHM_NAME, "mountPath": SHM_PATH}))
    return volume_entries, mount_entries


def build_container_ports(role: ProfileRole) -> list[Any]:
    """Return ``ports`` as ports of the training container."""
    return [
        attribute_to(
            where,
            {"name": fields["name"], "containerPort": fields["port"], **_pick_fields(fields, "protocol")},
        )
        for where, fields in merge_named_entries(role, "ports")
        if "port" in fields
    ]


_DUPLICATE_SHM_MESSAGE = (
    f"data already has a volume called {SHM_NAME} or mounted at {SHM_PATH}; drop it or shm"
)


def _build_volume_source(
    entry: Cursor, fields: dict[str, Cursor], diagnostics: list[Diagnostic]
) -> TracedMap | None:
    """Return the source of a volume in Kubernetes spelling; None with a diagnostic unless there is exactly
    one."""
    given_sources = [source for source in VOLUME_SOURCES if source in fields]
    if len(given_sources) != 1:
        given_text = f"both {join_words(given_sources)}" if given_sources else "none"
        allowed_sources = join_words(list(VOLUME_SOURCES), "or")
        message = f"a volume has one source, and this one has {given_text}; write one of {allowed_sources}"
        diagnostics.append(Diagnostic("PROF021", message, entry.path))
        return None
    source_cursor = fields[given_sources[0]]
    if given_sources[0] in NAMED_VOLUME_SOURCES:
        key, field = NAMED_VOLUME_SOURCES[given_sources[0]]
        return {key: attribute_to(source_cursor, {field: source_cursor})}
    if given_sources[0] == "volume":
        return {key: drop_nulls(value) for key, value in source_cursor.fields().items() if key != "name"}
    return {"emptyDir": drop_nulls(source_cursor)}


def _get_mount_path(fields: dict[str, Cursor]) -> Any:
    return fields["mount"].value if "mount" in fields else None


def _pick_fields(fields: dict[str, Cursor], *names: str) -> TracedMap:
    return {name: fields[name] for name in names if name in fields}
