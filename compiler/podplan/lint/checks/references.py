"""Secrets, ConfigMaps and namespaces of a job that the inventory does not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.inventory import (
    describe_absence,
    describe_namespaces,
    find_inventory_place,
    get_entry,
    get_section,
    is_available_in,
)
from podplan.lint.analysis.jobs import find_written_path, format_list, namespace_of
from podplan.lint.analysis.resources import list_containers, list_init_containers
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation, cache_latest

# The types of volumes that name a Secret or ConfigMap.
_REFERENCING_VOLUME_TYPES = frozenset({"configMap", "secret", "projected"})
INVENTORY_SECTIONS = {"Secret": "secrets", "ConfigMap": "configMaps"}


class ObjectReference(NamedTuple):
    """A reference to a Secret or ConfigMap, or to one of its keys."""

    kind: str
    name: str
    path: Path
    key: str = ""
    key_path: Path = ()


@check()
def unknown_reference(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A Secret or ConfigMap, or a key of one, that the inventory does not have.

    Values: ``kind``, ``name``, ``why``. Lowered objects of the job itself are known.
    """
    group, job = target.group, target.job
    if group is None:
        return
    own_objects = _find_own_objects(job)
    for reference in iter_references(group):
        section_entries = get_section(job, INVENTORY_SECTIONS[reference.kind])
        if section_entries and (reference.kind, reference.name) not in own_objects:
            reason, path = _explain_unknown(job, reference, section_entries)
            if reason:
                values = {"kind": reference.kind, "name": reference.name, "why": reason}
                place = INVENTORY_SECTIONS[reference.kind], reference.name
                yield Violation(path, values, find_inventory_place(job, *place))


@cache_latest
def _find_own_objects(job: LoweredJob) -> set[tuple[str, str]]:
    """Return kinds and names of the lowered objects of the job."""
    return {
        (one.doc.data["kind"], get_text(get_mapping(one.doc.data, "metadata"), "name")) for one in job.groups
    }


def _explain_unknown(
    job: LoweredJob, reference: ObjectReference, section_entries: Mapping[str, Any]
) -> tuple[str, Path]:
    section_name, name, job_namespace = INVENTORY_SECTIONS[reference.kind], reference.name, namespace_of(job)
    inventory_entry = get_entry(job, section_name, name)
    keys = inventory_entry.get("keys")
    if name not in section_entries:
        return describe_absence(name, section_entries), reference.path
    if not is_available_in(inventory_entry, job_namespace):
        return f'is in {describe_namespaces(inventory_entry)}, not in "{job_namespace}"', reference.path
    if reference.key and isinstance(keys, list) and reference.key not in keys:
        keys_text = format_list([str(key) for key in keys], 6) or "none"
        return f'has no key "{reference.key}"; its keys: {keys_text}', reference.key_path
    return "", ()


def iter_references(group: ReplicaGroup) -> Iterator[ObjectReference]:
    """Yield the required references of a Pod to Secrets and ConfigMaps."""
    for path, container in (*list_containers(group), *list_init_containers(group)):
        for number, variable in get_entries(container, "env"):
            if "valueFrom" not in variable:
                continue
            for field, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
                at = (*path, "env", number, "valueFrom", field)
                yield from _iter_keyed_references(get_mapping(variable["valueFrom"], field), kind, at)
        for number, source in get_entries(container, "envFrom"):
            for field, kind in (("secretRef", "Secret"), ("configMapRef", "ConfigMap")):
                yield from _iter_keyed_references(
                    get_mapping(source, field), kind, (*path, "envFrom", number, field)
                )
    for number, volume in get_entries(get_mapping(group.doc.data, "spec"), "volumes"):
        if not _REFERENCING_VOLUME_TYPES.isdisjoint(volume):
            yield from _iter_volume_references(volume, ("spec", "volumes", number))


def _iter_keyed_references(source: Mapping[str, Any], kind: str, path: Path) -> Iterator[ObjectReference]:
    name = get_text(source, "name")
    if not name or source.get("optional") is True:
        return
    items = list(get_entries(source, "items"))
    if not items:
        yield ObjectReference(kind, name, (*path, "name"), get_text(source, "key"), (*path, "key"))
    for number, item in items:
        yield ObjectReference(
            kind, name, (*path, "name"), get_text(item, "key"), (*path, "items", number, "key")
        )


def _iter_volume_references(volume: Mapping[str, Any], path: Path) -> Iterator[ObjectReference]:
    yield from _iter_keyed_references(get_mapping(volume, "configMap"), "ConfigMap", (*path, "configMap"))
    secret = get_mapping(volume, "secret")
    secret_source = {**secret, "name": secret.get("secretName")}
    for reference in _iter_keyed_references(secret_source, "Secret", (*path, "secret")):
        yield reference._replace(path=(*path, "secret", "secretName"))
    for index, source in get_entries(get_mapping(volume, "projected"), "sources"):
        for field, kind in (("secret", "Secret"), ("configMap", "ConfigMap")):
            yield from _iter_keyed_references(
                get_mapping(source, field), kind, (*path, "projected", "sources", index, field)
            )


@check()
def unknown_namespace(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A namespace that the inventory does not have. Values: ``namespace``, ``why``."""
    job_namespace, namespaces = namespace_of(target.job), get_section(target.job, "namespaces")
    if job_namespace and namespaces and job_namespace not in namespaces:
        path = find_written_path(target.data, "metadata", "namespace")
        yield Violation(
            path, {"namespace": job_namespace, "why": describe_absence(job_namespace, namespaces)}
        )
