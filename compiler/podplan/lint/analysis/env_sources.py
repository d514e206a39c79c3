"""The values of the variables of a container, if they are known from the lowered Pod.

Source: https://kubernetes.io/docs/concepts/workloads/pods/downward-api/
"""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup, build_folded_at_index
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers import kubelet

_METADATA_KEY_PATTERN = compile_lazily(r"metadata\.(labels|annotations)\['(.*)'\]")
_ADDRESS_FIELDS = ("status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs")
_KEY_REFERENCE_KINDS = {"configMapKeyRef": "ConfigMap", "secretKeyRef": "Secret"}


class EnvValue(NamedTuple):
    """The value of a variable in the Pods of a replica group.

    ``texts`` are its values in the first and the last Pod, None if they are not known. ``description`` states
    in messages what the variable is set to. A value that ``is_per_pod`` is a field of the Pod that is only
    known in the cluster, and ``is_address`` if that field is an IP address.
    """

    texts: tuple[str, str] | None
    description: str
    is_per_pod: bool = False
    is_address: bool = False


def read_env_value(group: ReplicaGroup, path: Path, number: int) -> EnvValue:
    """Return the value of the variable ``number`` of the container at ``path``."""
    first, last = (
        _get_pod(group, index) for index in (group.start, group.start + max(group.replicas, 1) - 1)
    )
    entry = _get_container(first, path)["env"][number]
    source = get_mapping(entry, "valueFrom")
    if not source:
        values = _read_literal_value(first, path, number), _read_literal_value(last, path, number)
        return EnvValue(_pair_known(*values), str(entry.get("value", "")))
    for kind, named in _KEY_REFERENCE_KINDS.items():
        if kind in source:
            reference = get_mapping(source, kind)
            description = f"the key {get_text(reference, 'key')} of {named} {get_text(reference, 'name')}"
            return EnvValue(None, description)
    field = get_text(get_mapping(source, "fieldRef"), "fieldPath")
    if field:
        description = f"the field {field} of the Pod"
        texts = _pair_known(_read_pod_field(first, field), _read_pod_field(last, field))
        return EnvValue(texts, description, texts is None, field in _ADDRESS_FIELDS)
    resource = get_text(get_mapping(source, "resourceFieldRef"), "resource")
    return EnvValue(None, f"{resource} of the container" if resource else "a value that is not known")


def _pair_known(first: str | None, last: str | None) -> tuple[str, str] | None:
    return None if first is None or last is None else (first, last)


def _get_pod(group: ReplicaGroup, index: int) -> dict[str, Any]:
    return build_folded_at_index(group.doc, index) if group.doc.replica_texts else group.doc.data


def _get_container(pod: dict[str, Any], path: Path) -> Any:
    node: Any = pod
    for step in path:
        node = node[step]
    return node


def _read_literal_value(pod: dict[str, Any], path: Path, number: int) -> str | None:
    """Return a literal value with its references replaced, which may refer to a field of the Pod."""
    container = _get_container(pod, path)
    values: dict[str, str | None] = {}
    value: str | None = None
    for _, entry in get_entries({"env": container["env"][: number + 1]}, "env"):
        field = get_text(get_mapping(get_mapping(entry, "valueFrom"), "fieldRef"), "fieldPath")
        if "valueFrom" in entry:
            value = _read_pod_field(pod, field) if field else None
        else:
            expanded = kubelet.expand_references(
                get_text(entry, "value"), values, is_complete=not container.get("envFrom")
            )
            value = expanded.text if expanded.is_known else None
        values[get_text(entry, "name")] = value
    return value


def _read_pod_field(pod: dict[str, Any], field: str) -> str | None:
    """Return a field of the Pod; None if the API server or the kubelet sets it."""
    metadata = get_mapping(pod, "metadata")
    if field in ("metadata.name", "metadata.namespace"):
        return get_text(metadata, field.partition(".")[2]) or None
    if field == "spec.serviceAccountName":
        return get_text(get_mapping(pod, "spec"), "serviceAccountName") or "default"
    match = _METADATA_KEY_PATTERN.fullmatch(field)
    return get_text(get_mapping(metadata, match[1]), match[2]) if match else None
