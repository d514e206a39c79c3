"""What the variables of a container are set to, as far as the lowered Pod tells.

Source: https://kubernetes.io/docs/concepts/workloads/pods/downward-api/
"""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.core.lazy_regex import pattern
from podplan.core.replica_groups import Group, at_index
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.launchers import kubelet

_KEYED = pattern(r"metadata\.(labels|annotations)\['(.*)'\]")
_ADDRESSES = ("status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs")
_KEYS = {"configMapKeyRef": "ConfigMap", "secretKeyRef": "Secret"}


class Source(NamedTuple):
    """The values of a variable in the first and the last Pod of a group, None where they are not known.

    ``shown`` says in words what it is set to. A value ``of_pod`` is another one in each Pod; it may be an
    IP address.
    """

    texts: tuple[str, str] | None
    shown: str
    of_pod: bool = False
    is_address: bool = False


def read(group: Group, path: Path, number: int) -> Source:
    """The value of the variable ``number`` of the container at ``path``."""
    first, last = (_pod(group, index) for index in (group.start, group.start + max(group.replicas, 1) - 1))
    entry = _container(first, path)["env"][number]
    source = mapping(entry, "valueFrom")
    if not source:
        values = _value(first, path, number), _value(last, path, number)
        return Source(_both(*values), str(entry.get("value", "")))
    for kind, named in _KEYS.items():
        if kind in source:
            reference = mapping(source, kind)
            shown = f"the key {text(reference, 'key')} of {named} {text(reference, 'name')}"
            return Source(None, shown)
    field = text(mapping(source, "fieldRef"), "fieldPath")
    if field:
        shown = f"the field {field} of the Pod"
        texts = _both(_field(first, field), _field(last, field))
        return Source(texts, shown, texts is None, field in _ADDRESSES)
    resource = text(mapping(source, "resourceFieldRef"), "resource")
    return Source(None, f"{resource} of the container" if resource else "a value from elsewhere")


def _both(first: str | None, last: str | None) -> tuple[str, str] | None:
    return None if first is None or last is None else (first, last)


def _pod(group: Group, index: int) -> dict[str, Any]:
    return at_index(group.doc, index) if group.doc.varies else group.doc.data


def _container(pod: dict[str, Any], path: Path) -> Any:
    found: Any = pod
    for step in path:
        found = found[step]
    return found


def _value(pod: dict[str, Any], path: Path, number: int) -> str | None:
    """A literal value with its references replaced, which may lead to a field of the Pod."""
    container = _container(pod, path)
    known: dict[str, str | None] = {}
    value: str | None = None
    for _, entry in entries({"env": container["env"][: number + 1]}, "env"):
        field = text(mapping(mapping(entry, "valueFrom"), "fieldRef"), "fieldPath")
        if "valueFrom" in entry:
            value = _field(pod, field) if field else None
        else:
            made = kubelet.expand(text(entry, "value"), known, complete=not container.get("envFrom"))
            value = made.text if made.known else None
        known[text(entry, "name")] = value
    return value


def _field(pod: dict[str, Any], field: str) -> str | None:
    """A field of the Pod; None where the API server or the kubelet sets it."""
    metadata = mapping(pod, "metadata")
    if field in ("metadata.name", "metadata.namespace"):
        return text(metadata, field.partition(".")[2]) or None
    if field == "spec.serviceAccountName":
        return text(mapping(pod, "spec"), "serviceAccountName") or "default"
    found = _KEYED.fullmatch(field)
    return text(mapping(metadata, found[1]), found[2]) if found else None
