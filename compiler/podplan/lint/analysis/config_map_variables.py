"""Variables that a container takes from a ConfigMap, read as if their values stood in its env.

The kubelet sets those of envFrom before those of env, which replace them, and does not expand ``$(NAME)`` in
values of a ConfigMap. A value has the key of the ConfigMap as its origin. The references stay beside the
values: other rules are about them, and a source that is not known may have more variables.

Source: https://kubernetes.io/docs/tasks/configure-pod-container/configure-pod-configmap/
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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


class _Variable(NamedTuple):
    """A variable with its value in a ConfigMap, and the index of its entry in envFrom."""

    name: str
    value: str
    place: DocumentPath
    source: int


def resolve_variables(
    group: ReplicaGroup, find_config_map: FindConfigMap
) -> tuple[ReplicaGroup, list[ReadConfigMap]]:
    """Return Pods with the variables of ConfigMaps in env, and these ConfigMaps."""
    doc, read = group.doc, list[ReadConfigMap]()
    for field in _FIELDS:
        for number, container in get_entries(get_mapping(group.doc.data, "spec"), field):
            if not isinstance(container.get("env", []), list):
                continue
            base: Path = ("spec", field, number)
            values = _read_keys(base, container, find_config_map, read)
            added = _read_sources(base, container, find_config_map, read)
            if values or added:
                doc = _with_variables(doc, base, values, added)
    return (group if doc is group.doc else group._replace(doc=doc)), read


def _read_keys(
    base: Path, container: Mapping[str, Any], find_config_map: FindConfigMap, read: list[ReadConfigMap]
) -> dict[int, tuple[str, DocumentPath]]:
    """Return the values of references to keys in env, with their places, by the index of the entry."""
    found: dict[int, tuple[str, DocumentPath]] = {}
    for at, entry in get_entries(container, "env"):
        reference = get_mapping(get_mapping(entry, "valueFrom"), "configMapKeyRef")
        name, key = get_text(reference, "name"), get_text(reference, "key")
        config_map = find_config_map(name) if name and key else None
        value = get_mapping(config_map.data, "data").get(key) if config_map is not None else None
        if config_map is not None and isinstance(value, str) and _is_plain(get_text(entry, "name"), value):
            found[at] = value, DocumentPath(config_map, ("data", key))
            read.append(
                ReadConfigMap(config_map, (*base, "env", at, "valueFrom", "configMapKeyRef", "name"), name)
            )
    return found


def _read_sources(
    base: Path, container: Mapping[str, Any], find_config_map: FindConfigMap, read: list[ReadConfigMap]
) -> list[_Variable]:
    """Return the variables of envFrom that env does not set."""
    found: dict[str, _Variable] = {}
    for at, source in get_entries(container, "envFrom"):
        name = get_text(get_mapping(source, "configMapRef"), "name")
        config_map = find_config_map(name) if name else None
        data = get_mapping(config_map.data, "data") if config_map is not None else {}
        if config_map is None or len(data) > MOST_VARIABLES:
            continue
        read.append(ReadConfigMap(config_map, (*base, "envFrom", at, "configMapRef", "name"), name))
        for key, value in data.items():
            variable = f"{get_text(source, 'prefix')}{key}"
            found.pop(variable, None)
            if isinstance(value, str) and _is_plain(variable, value):
                found[variable] = _Variable(variable, value, DocumentPath(config_map, ("data", key)), at)
    own = {get_text(entry, "name") for _, entry in get_entries(container, "env")}
    return [variable for variable in found.values() if variable.name not in own]


def _with_variables(
    doc: TracedDocument,
    base: Path,
    values: Mapping[int, tuple[str, DocumentPath]],
    added: Sequence[_Variable],
) -> TracedDocument:
    """Return a Pod with values at entries of env, and more variables before them."""
    env: Path = (*base, "env")
    container, shift = value_at(doc.data, base), len(added)
    present = [
        {**entry, "value": values[at][0]} if at in values else entry
        for at, entry in enumerate(container.get("env") or ())
    ]
    origins: dict[Path, Origin] = {(): Origin("copied", (DocumentPath(doc, ()),))}
    for at, variable in enumerate(added):
        origins[*env, at] = Origin("because", (DocumentPath(doc, (*base, "envFrom", variable.source)),))
        origins[*env, at, "value"] = Origin("copied", (variable.place,))
    for at in range(len(present)):
        origins[*env, at + shift] = Origin("copied", (DocumentPath(doc, (*env, at)),))
        if at in values:
            origins[*env, at + shift, "value"] = Origin("copied", (values[at][1],))
    entries = [*({"name": one.name, "value": one.value} for one in added), *present]
    data = with_value(doc.data, base, {**container, "env": entries})
    replica_texts = {shift_path(path, env, 0, shift): value for path, value in doc.replica_texts.items()}
    return TracedDocument(doc.name, data, origins=origins, replica_texts=replica_texts)


def _is_plain(name: str, value: str) -> bool:
    """Whether a variable may be read: it has nothing that looks like a reference, and is no secret."""
    return "$(" not in value and not is_secret(name, value)
