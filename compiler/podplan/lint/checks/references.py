"""Secrets, ConfigMaps and namespaces that a job names, against the inventory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.replica_groups import Group
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.lint.analysis.inventory import absent, elsewhere, entry, is_for, section
from podplan.lint.analysis.jobs import namespace, shown_list, written
from podplan.lint.analysis.resources import containers, init_containers
from podplan.lint.target import Hit, Job, Subject, for_one

# The types of volumes that name a Secret or ConfigMap.
_NAMING = frozenset({"configMap", "secret", "projected"})
SECTIONS = {"Secret": "secrets", "ConfigMap": "configMaps"}


class Reference(NamedTuple):
    """A place that names a Secret or ConfigMap, and a key of it if it does."""

    kind: str
    name: str
    path: Path
    key: str = ""
    key_path: Path = ()


def unknown_reference(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A Secret or ConfigMap, or a key of one, that the inventory does not have.

    Values: ``kind``, ``name``, ``why``. What the job brings with itself is known.
    """
    group, job = subject.group, subject.job
    if group is None:
        return
    own = _own(job)
    for reference in references(group):
        known = section(job, SECTIONS[reference.kind])
        if known and (reference.kind, reference.name) not in own:
            why, at = _fault(job, reference, known)
            if why:
                yield Hit(at, {"kind": reference.kind, "name": reference.name, "why": why})


@for_one
def _own(job: Job) -> set[tuple[str, str]]:
    """Kinds and names of what the job brings with itself."""
    return {(one.doc.data["kind"], text(mapping(one.doc.data, "metadata"), "name")) for one in job.groups}


def _fault(job: Job, reference: Reference, known: Mapping[str, Any]) -> tuple[str, Path]:
    of, name, where = SECTIONS[reference.kind], reference.name, namespace(job)
    found = entry(job, of, name)
    keys = found.get("keys")
    if name not in known:
        return absent(name, known), reference.path
    if not is_for(found, where):
        return f'is in {elsewhere(found)}, not in "{where}"', reference.path
    if reference.key and isinstance(keys, list) and reference.key not in keys:
        listed = shown_list([str(key) for key in keys], 6) or "none"
        return f'has no key "{reference.key}"; its keys: {listed}', reference.key_path
    return "", ()


def references(group: Group) -> Iterator[Reference]:
    """The places of a Pod that name a Secret or ConfigMap that has to be there."""
    for path, container in (*containers(group), *init_containers(group)):
        for number, variable in entries(container, "env"):
            if "valueFrom" not in variable:
                continue
            for field, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
                at = (*path, "env", number, "valueFrom", field)
                yield from _keyed(mapping(variable["valueFrom"], field), kind, at)
        for number, source in entries(container, "envFrom"):
            for field, kind in (("secretRef", "Secret"), ("configMapRef", "ConfigMap")):
                yield from _keyed(mapping(source, field), kind, (*path, "envFrom", number, field))
    for number, volume in entries(mapping(group.doc.data, "spec"), "volumes"):
        if not _NAMING.isdisjoint(volume):
            yield from _of_volume(volume, ("spec", "volumes", number))


def _keyed(source: Mapping[str, Any], kind: str, path: Path) -> Iterator[Reference]:
    name = text(source, "name")
    if not name or source.get("optional") is True:
        return
    items = list(entries(source, "items"))
    if not items:
        yield Reference(kind, name, (*path, "name"), text(source, "key"), (*path, "key"))
    for number, item in items:
        yield Reference(kind, name, (*path, "name"), text(item, "key"), (*path, "items", number, "key"))


def _of_volume(volume: Mapping[str, Any], path: Path) -> Iterator[Reference]:
    yield from _keyed(mapping(volume, "configMap"), "ConfigMap", (*path, "configMap"))
    secret = mapping(volume, "secret")
    named = {**secret, "name": secret.get("secretName")}
    for reference in _keyed(named, "Secret", (*path, "secret")):
        yield reference._replace(path=(*path, "secret", "secretName"))
    for index, source in entries(mapping(volume, "projected"), "sources"):
        for field, kind in (("secret", "Secret"), ("configMap", "ConfigMap")):
            yield from _keyed(mapping(source, field), kind, (*path, "projected", "sources", index, field))


def unknown_namespace(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A namespace that the inventory does not have. Values: ``namespace``, ``why``."""
    where, known = namespace(subject.job), section(subject.job, "namespaces")
    if where and known and where not in known:
        at = written(subject.data, "metadata", "namespace")
        yield Hit(at, {"namespace": where, "why": absent(where, known)})
