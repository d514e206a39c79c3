"""Converts a ColossalAIJob with launcher and worker to torchConfig and replicaSpecs, on the tree of its text.

The fields in both dialects: docs/evidence/t9k-colossalaijob.md#fields-of-the-replica-dialect.
"""

from __future__ import annotations

import re

from podplan.core.typing import Any
from podplan.kinds.registry import find_kind, load_spec
from podplan.tools.formatter.rewriting import build_field, build_scalar, find_entry_index
from podplan.yaml.edits.changes import FixRefused, format_inline
from podplan.yaml.tree import CstEntry, CstNode

TORCH_CONFIG_FIELDS = {"procPerWorker": "procPerWorker", "command": "script", "torchArgs": "extraArgs"}
LAUNCHER_FIELDS = ("image", "workingDir", "env", "resources")
WORKER_FIELDS = (*TORCH_CONFIG_FIELDS, "replicas", "template")
_COMMENTED_FIELD = re.compile(r"#+ *[A-Za-z]\w*:(?: |$)")
OLD_FIELDS, NEW_FIELDS = ("launcher", "worker"), ("torchConfig", "replicaSpecs")


def is_launcher_dialect(cr: Any) -> bool:
    """Whether a CR is in the dialect that migrate replaces."""
    kind = find_kind(cr.get("apiVersion"), cr.get("kind")) if isinstance(cr, dict) else None
    spec = cr.get("spec") if kind is not None and load_spec(kind).superseded_dialect else None
    return isinstance(spec, dict) and any(spec.get(name) is not None for name in OLD_FIELDS)


def convert_to_replica_specs(spec: CstNode, data: dict[str, Any]) -> CstNode:
    """Convert the mapping ``spec``, whose data is ``data``. Raises FixRefused: if that is impossible."""
    mixed = [name for name in NEW_FIELDS if data.get(name) is not None]
    if mixed:
        raise FixRefused(f"it has {mixed[0]} of the other dialect beside what it would become")
    parts = {name: _find_mapping(spec, name) for name in OLD_FIELDS if data.get(name) is not None}
    for name, allowed in (("launcher", LAUNCHER_FIELDS), ("worker", WORKER_FIELDS)):
        for leaf in parts[name].value.entries if name in parts else ():
            if _get_key_name(leaf) not in allowed:
                raise FixRefused(f"{name}.{_get_key_name(leaf)} has no place in the other dialect")
    specs = [
        *([_build_launcher_spec(parts["launcher"], data)] if "launcher" in parts else []),
        *([_build_worker_spec(parts["worker"])] if "worker" in parts else []),
    ]
    config = [
        leaf._replace(key=build_scalar(TORCH_CONFIG_FIELDS[_get_key_name(leaf)]))
        for leaf in (parts["worker"].value.entries if "worker" in parts else ())
        if _get_key_name(leaf) in TORCH_CONFIG_FIELDS
    ]
    new = [
        *([build_field("torchConfig", CstNode("map", -1, -1, entries=tuple(config)))] if config else []),
        build_field("replicaSpecs", CstNode("list", -1, -1, entries=tuple(specs))),
    ]
    first = min(find_entry_index(spec, name) for name in parts)
    entries: list[CstEntry] = []
    for index, leaf in enumerate(spec.entries):
        entries += new if index == first else []
        entries += [] if _get_key_name(leaf) in OLD_FIELDS else [leaf]
    comments_above = spec.entries[first].comments_above
    kept_comments = (
        comments_above
        if _is_commented_out(comments_above)
        else ("",)
        if "" in comments_above and first
        else ()
    )
    entries[first] = entries[first]._replace(comments_above=kept_comments)
    return spec._replace(entries=tuple(entries))


def _is_commented_out(lines: tuple[str, ...]) -> bool:
    """Whether a comment is commented-out YAML, so that it is not about the entry below."""
    return any(_COMMENTED_FIELD.match(line) for line in lines)


def _find_mapping(spec: CstNode, name: str) -> CstEntry:
    leaf = spec.entries[find_entry_index(spec, name)]
    if leaf.value.node_type != "map" or leaf.value.prefix:
        raise FixRefused(
            f"{name} is no mapping of its own" if leaf.value.node_type != "map" else f"{name} has an anchor"
        )
    return leaf


def _build_launcher_spec(leaf: CstEntry, data: dict[str, Any]) -> CstEntry:
    fields = [build_field("name", build_scalar("launcher"))]
    names = [_get_key_name(below) for below in leaf.value.entries]
    image = _find_worker_image(data)
    if "image" not in names and image:
        fields.append(build_field("image", build_scalar(format_inline(image))))
    container = CstNode(
        "map", -1, -1, entries=(*fields, *leaf.value.entries), trailing_comments=leaf.value.trailing_comments
    )
    containers = CstNode("list", -1, -1, entries=(CstEntry(None, container, -1),))
    template = _wrap_in_mapping("spec", _wrap_in_mapping("containers", containers))
    return _build_replica_spec(
        leaf, [build_field("replicas", build_scalar("1")), build_field("template", template)], ()
    )


def _build_worker_spec(leaf: CstEntry) -> CstEntry:
    remaining_fields = [
        below for below in leaf.value.entries if _get_key_name(below) not in TORCH_CONFIG_FIELDS
    ]
    return _build_replica_spec(leaf, remaining_fields, leaf.value.trailing_comments)


def _build_replica_spec(leaf: CstEntry, fields: list[CstEntry], closing: tuple[str, ...]) -> CstEntry:
    """Build an entry of replicaSpecs from a field of the spec, with its comments."""
    comments_above = () if _is_commented_out(leaf.comments_above) else leaf.comments_above
    comment_lines = tuple(
        line for line in (*comments_above, leaf.line_comment, *leaf.value.leading_comments) if line
    )
    type_ = build_field("type", build_scalar(_get_key_name(leaf)))
    return CstEntry(
        None,
        CstNode("map", -1, -1, entries=(type_, *fields), trailing_comments=closing),
        -1,
        comments_above=comment_lines,
    )


def _wrap_in_mapping(name: str, value: CstNode) -> CstNode:
    return CstNode("map", -1, -1, entries=(build_field(name, value),))


def _get_key_name(leaf: CstEntry) -> str:
    return leaf.key.value if leaf.key is not None else ""


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
