"""Differences between a ClusterInventory and objects of the repository. The inventory wins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from podplan.core.provenance import Cursor, Path, TracedDocument, root_cursor
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text, get_texts
from podplan.kubernetes.quantities import parse_quantity

POD_SECURITY_LABEL = "pod-security.kubernetes.io/enforce"


class Contradiction(NamedTuple):
    """A value of the inventory, at ``path``, and what an object states instead, with its place."""

    path: Path
    stated: str
    kind: str
    other: str
    place: Cursor


class _Statement(NamedTuple):
    """A value that an object states for a field of an entry of the inventory."""

    field: Path
    value: Any
    place: Cursor


def iter_contradictions(
    inventory: TracedDocument, documents: Iterable[TracedDocument]
) -> Iterator[Contradiction]:
    """Yield the differences. Objects that several files define differently are skipped."""
    spec = get_mapping(inventory.data, "spec")
    objects: dict[tuple[str, str, str], Cursor | None] = {}
    for document in documents:
        metadata = get_mapping(document.data, "metadata")
        key = get_text(document.data, "kind"), get_text(metadata, "namespace"), get_text(metadata, "name")
        if key[0] in _SECTIONS:
            known = objects.setdefault(key, root_cursor(document))
            if known is not None and known.value != document.data:
                objects[key] = None
    for (kind, namespace, name), place in objects.items():
        section, list_statements = _SECTIONS[kind]
        entries = get_mapping(spec, section)
        if place is None or name not in entries or not _is_in(get_mapping(entries, name), namespace):
            continue
        for statement in list_statements(place):
            stated = entries[name]
            for step in statement.field:
                stated = stated.get(step) if isinstance(stated, dict) else None
            if stated is not None and not _agree(stated, statement.value):
                path: Path = ("spec", section, name, *statement.field)
                yield Contradiction(path, _format(stated), kind, _format(statement.value), statement.place)


def _is_in(entry: Mapping[str, Any], namespace: str) -> bool:
    namespaces = entry.get("namespaces")
    return not namespace or not isinstance(namespaces, list) or namespace in namespaces


def _agree(stated: Any, other: Any) -> bool:
    if isinstance(stated, list) and isinstance(other, list):
        return sorted(map(str, stated)) == sorted(map(str, other))
    quantities = parse_quantity(stated), parse_quantity(other)
    return str(stated) == str(other) or (None not in quantities and quantities[0] == quantities[1])


def _format(value: Any) -> str:
    return ", ".join(sorted(map(str, value))) if isinstance(value, list) else str(value)


def _list_of_namespace(namespace: Cursor) -> Iterator[_Statement]:
    labels = namespace.get("metadata", "labels")
    for key, label in labels.fields().items():
        yield _Statement(("labels", str(key)), label.value, label)
        if key == POD_SECURITY_LABEL:
            yield _Statement(("podSecurity",), label.value, label)


def _list_of_claim(claim: Cursor) -> Iterator[_Statement]:
    modes, size = claim.get("spec", "accessModes"), claim.get("spec", "resources", "requests", "storage")
    if modes.exists:
        texts = [text for _, text in get_texts(claim.get("spec").value, "accessModes")]
        yield _Statement(("accessModes",), texts, modes)
    if size.exists:
        yield _Statement(("storage",), size.value, size)


def _list_of_queue(queue: Cursor) -> Iterator[_Statement]:
    for resource, amount in queue.get("spec", "capability").fields().items():
        yield _Statement(("quota", str(resource)), amount.value, amount)


def _list_keys(*fields: str) -> Callable[[Cursor], Iterator[_Statement]]:
    def list_statements(one: Cursor) -> Iterator[_Statement]:
        keys = sorted({str(key) for field in fields for key in get_mapping(one.value, field)})
        if keys:
            yield _Statement(("keys",), keys, one)

    return list_statements


# The section of the inventory for each kind, and the values that an object states there.
_SECTIONS: dict[str, tuple[str, Callable[[Cursor], Iterator[_Statement]]]] = {
    "Namespace": ("namespaces", _list_of_namespace),
    "PersistentVolumeClaim": ("pvcs", _list_of_claim),
    "Queue": ("queues", _list_of_queue),
    "Secret": ("secrets", _list_keys("data", "stringData")),
    "ConfigMap": ("configMaps", _list_keys("data", "binaryData")),
}
COMPARED_KINDS = tuple(_SECTIONS)
