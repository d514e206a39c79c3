"""Variables that a container takes from a ConfigMap, read as if their values stood in its env.

The kubelet sets those of envFrom before those of env, which replace them, and does not expand ``$(NAME)`` in
values of a ConfigMap. A value has the key of the ConfigMap as its origin. The references stay beside the
values: other rules are about them, and a source that is not known may have more variables.

Source: https://kubernetes.io/docs/tasks/configure-pod-container/configure-pod-configmap/
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from podplan.core.findings import value_at
from podplan.core.provenance import DocumentPath, Origin, Path, TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.mounted_scripts import shift_path, with_value
from podplan.redaction.detection import is_secret

MOST_VARIABLES = 500  # of a ConfigMap
_FIELDS = ("initContainers", "containers")

FindConfigMap = Callable[[str], TracedDocument | None]


class ReadConfigMap(NamedTuple):
    """A ConfigMap, and the path of the reference to it in a Pod."""

    doc: TracedDocument
    path: Path
    name: str


def resolve_variables(
    group: ReplicaGroup, find_config_map: FindConfigMap
) -> tuple[ReplicaGroup, list[ReadConfigMap]]:
    """Return Pods with the variables of ConfigMaps in env, and these ConfigMaps."""
    doc, read = group.doc, list[ReadConfigMap]()
    for field in _FIELDS:
        for number, container in get_entries(get_mapping(group.doc.data, "spec"), field):
            base: Path = ("spec", field, number)
            doc = _resolve_keys(doc, base, container, find_config_map, read)
            doc = _resolve_sources(doc, base, container, find_config_map, read)
    return (group if doc is group.doc else group._replace(doc=doc)), read


def _resolve_keys(
    doc: TracedDocument,
    base: Path,
    container: Mapping[str, Any],
    find_config_map: FindConfigMap,
    read: list[ReadConfigMap],
) -> TracedDocument:
    """Replace the references to keys in env by their values."""
    entries = list(container.get("env") or ())
    origins: dict[Path, Origin] = {(): Origin("copied", (DocumentPath(doc, ()),))}
    for at, entry in get_entries(container, "env"):
        reference = get_mapping(get_mapping(entry, "valueFrom"), "configMapKeyRef")
        name, key = get_text(reference, "name"), get_text(reference, "key")
        config_map = find_config_map(name) if name and key else None
        value = get_mapping(config_map.data, "data").get(key) if config_map is not None else None
        if config_map is None or not _is_plain(get_text(entry, "name"), value):
            continue
        place: Path = (*base, "env", at)
        entries[at] = {**entry, "value": value}
        origins[*place, "value"] = Origin("copied", (DocumentPath(config_map, ("data", key)),))
        read.append(ReadConfigMap(config_map, (*place, "valueFrom", "configMapKeyRef", "name"), name))
    if len(origins) == 1:
        return doc
    data = with_value(doc.data, (*base, "env"), entries)
    return TracedDocument(doc.name, data, origins=origins, replica_texts=doc.replica_texts)


def _resolve_sources(
    doc: TracedDocument,
    base: Path,
    container: Mapping[str, Any],
    find_config_map: FindConfigMap,
    read: list[ReadConfigMap],
) -> TracedDocument:
    """Put the variables of envFrom before those of env."""
    found: dict[str, tuple[str, DocumentPath, int]] = {}
    for at, source in get_entries(container, "envFrom"):
        name = get_text(get_mapping(source, "configMapRef"), "name")
        config_map = find_config_map(name) if name else None
        data = get_mapping(config_map.data, "data") if config_map is not None else {}
        if config_map is None or len(data) > MOST_VARIABLES:
            continue
        read.append(ReadConfigMap(config_map, (*base, "envFrom", at, "configMapRef", "name"), name))
        for key, value in data.items():
            variable = f"{get_text(source, 'prefix')}{key}"
            if _is_plain(variable, value):
                found[variable] = (value, DocumentPath(config_map, ("data", key)), at)
            else:
                found.pop(variable, None)
    own = {get_text(entry, "name") for _, entry in get_entries(container, "env")}
    added = [(name, *rest) for name, rest in found.items() if name not in own]
    if not added or not isinstance(container.get("env", []), list):
        return doc
    env: Path = (*base, "env")
    present = value_at(doc.data, env) or []
    variables = [{"name": name, "value": value} for name, value, _, _ in added]
    data = with_value(doc.data, base, {**value_at(doc.data, base), "env": [*variables, *present]})
    origins: dict[Path, Origin] = {(): Origin("copied", (DocumentPath(doc, ()),))}
    for at, (_, _, place, source_at) in enumerate(added):
        origins[*env, at] = Origin("because", (DocumentPath(doc, (*base, "envFrom", source_at)),))
        origins[*env, at, "value"] = Origin("copied", (place,))
    for at in range(len(present)):
        origins[*env, at + len(added)] = Origin("copied", (DocumentPath(doc, (*env, at)),))
    replica_texts = {shift_path(path, env, 0, len(added)): value for path, value in doc.replica_texts.items()}
    return TracedDocument(doc.name, data, origins=origins, replica_texts=replica_texts)


def _is_plain(name: str, value: object) -> bool:
    """Whether a variable may be read: a text without what the kubelet would expand, and no secret."""
    return isinstance(value, str) and "$(" not in value and not is_secret(name, value)
