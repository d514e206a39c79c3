"""Converts a ColossalAIJob with launcher and worker to torchConfig and replicaSpecs, on the tree of its text.

The fields in both dialects: docs/evidence/t9k-colossalaijob.md#fields-of-the-replica-dialect.
"""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.tools.formatter.rewriting import build_field, build_scalar
from podplan.tools.migrator.replica_specs import (
    build_list,
    build_mapping,
    build_replica_spec,
    find_own_mapping,
    get_key_name,
    reject_new_fields,
    replace_fields,
    require_written,
    separate_comments,
)
from podplan.yaml.edits.changes import FixRefused, format_inline
from podplan.yaml.tree import CstEntry, CstNode

TORCH_CONFIG_FIELDS = {"procPerWorker": "procPerWorker", "command": "script", "torchArgs": "extraArgs"}
LAUNCHER_FIELDS = ("image", "workingDir", "env", "resources")
WORKER_FIELDS = (*TORCH_CONFIG_FIELDS, "replicas", "template")
OLD_FIELDS, NEW_FIELDS = ("launcher", "worker"), ("torchConfig", "replicaSpecs")


def convert_to_replica_specs(spec: CstNode, data: dict[str, Any]) -> CstNode:
    """Convert the mapping ``spec``, whose data is ``data``. Raises FixRefused: if that is impossible."""
    reject_new_fields(data, NEW_FIELDS)
    names = [name for name in OLD_FIELDS if data.get(name) is not None]
    require_written(spec, names)
    spec, comments_above = separate_comments(spec, names)
    parts = {name: find_own_mapping(spec, name) for name in names}
    for name, allowed in (("launcher", LAUNCHER_FIELDS), ("worker", WORKER_FIELDS)):
        for leaf in parts[name].value.entries if name in parts else ():
            if get_key_name(leaf) not in allowed:
                raise FixRefused(f"{name}.{get_key_name(leaf)} has no place in the other dialect")
    specs = [
        *([_build_launcher_spec(parts["launcher"], data)] if "launcher" in parts else []),
        *([_build_worker_spec(parts["worker"])] if "worker" in parts else []),
    ]
    config = [
        leaf._replace(key=build_scalar(TORCH_CONFIG_FIELDS[get_key_name(leaf)]))
        for leaf in (parts["worker"].value.entries if "worker" in parts else ())
        if get_key_name(leaf) in TORCH_CONFIG_FIELDS
    ]
    new = [
        *([build_field("torchConfig", build_mapping(*config))] if config else []),
        build_field("replicaSpecs", build_list(*specs)),
    ]
    return replace_fields(spec, OLD_FIELDS, new, comments_above)


def _build_launcher_spec(leaf: CstEntry, data: dict[str, Any]) -> CstEntry:
    fields = [build_field("name", build_scalar("launcher"))]
    names = [get_key_name(below) for below in leaf.value.entries]
    image = _find_worker_image(data)
    if "image" not in names and image:
        fields.append(build_field("image", build_scalar(format_inline(image))))
    container = build_mapping(*fields, *leaf.value.entries)
    containers = build_list(container._replace(trailing_comments=leaf.value.trailing_comments))
    template = build_mapping(build_field("spec", build_mapping(build_field("containers", containers))))
    return build_replica_spec(
        "launcher", [build_field("replicas", build_scalar("1")), build_field("template", template)], leaf
    )


def _build_worker_spec(leaf: CstEntry) -> CstEntry:
    remaining_fields = [
        below for below in leaf.value.entries if get_key_name(below) not in TORCH_CONFIG_FIELDS
    ]
    return build_replica_spec("worker", remaining_fields, leaf, leaf.value.trailing_comments)


def _find_worker_image(data: dict[str, Any]) -> str:
    """Return the default image of a launcher: that of the training container of the workers."""
    template = _as_mapping(_as_mapping(data.get("worker")).get("template"))
    container_list = _as_mapping(template.get("spec")).get("containers")
    containers = (
        [one for one in container_list if isinstance(one, dict)] if isinstance(container_list, list) else []
    )
    training_container = next(
        (one for one in containers if one.get("name") == "worker"), next(iter(containers), {})
    )
    image = training_container.get("image")
    return image if isinstance(image, str) else ""


def _as_mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
