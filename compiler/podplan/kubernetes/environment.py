"""Environment variables of a container: one source each, and references that Kubernetes knows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from podplan.core.findings import Path, Problem
from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any
from podplan.kubernetes import names, quantities
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.kubernetes.messages import not_allowed

SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
FIELDS_OF_ENV = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
FIELDS_OF_FILES = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.labels",
    "metadata.annotations",
)
_RESOURCE = pattern(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)\Z")
_KEYED = pattern(r"metadata\.(labels|annotations)\['(.*)'\]\Z", re.DOTALL)
_DIVISORS = {
    "cpu": (quantities.ONE // 1000, quantities.ONE),
    "": tuple(quantities.ONE * unit for unit in (1, *(10**n for n in (3, 6, 9, 12, 15, 18)))),
}
_BINARY_DIVISORS = tuple(quantities.ONE * 2**n for n in (10, 20, 30, 40, 50, 60))


def check(container: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of ``env`` and ``envFrom`` of a container."""
    for index, variable in entries(container, "env"):
        if "valueFrom" in variable:
            yield from _value_from(variable, (*path, "env", index, "valueFrom"))
    for index, source in entries(container, "envFrom"):
        at = (*path, "envFrom", index)
        given = [name for name in ("configMapRef", "secretRef") if name in source]
        if not given:
            yield Problem("SCHEMA003", "envFrom needs a configMapRef or a secretRef", at)
        elif len(given) > 1:
            yield Problem("SCHEMA009", "envFrom takes configMapRef or secretRef, not both", at)


def _value_from(variable: dict[str, Any], path: Path) -> Iterator[Problem]:
    source = variable["valueFrom"]
    if not isinstance(source, dict):
        return
    given = [name for name in SOURCES if name in source]
    if text(variable, "value") and given:
        related = (((*path[:-1], "value"), "the value"),)
        yield Problem(
            "SCHEMA009", "value and valueFrom may not stand together; keep one of them", path, related=related
        )
    elif not given:
        yield Problem("SCHEMA003", f"valueFrom needs one of {', '.join(SOURCES[:-1])}", path)
    elif len(given) > 1:
        yield Problem("SCHEMA009", f"valueFrom takes one source, not {len(given)} ({', '.join(given)})", path)
    if "fieldRef" in source:
        yield from field_reference(mapping(source, "fieldRef"), FIELDS_OF_ENV, (*path, "fieldRef"))
    if "resourceFieldRef" in source:
        yield from resource_reference(mapping(source, "resourceFieldRef"), (*path, "resourceFieldRef"), None)


def field_reference(reference: dict[str, Any], allowed: tuple[str, ...], path: Path) -> Iterator[Problem]:
    """The problem of a ``fieldRef`` that names none of ``allowed`` and no single label or annotation."""
    field = text(reference, "fieldPath")
    if not field or field in allowed:
        return
    at = (*path, "fieldPath")
    keyed = _KEYED.match(field)
    if keyed is None:
        help = "a label or annotation is metadata.labels['KEY'] or metadata.annotations['KEY']"
        yield not_allowed(field, list(allowed), at)._replace(help=help)
        return
    fault = names.fault("qualified-name" if keyed[1] == "labels" else "annotation-key", keyed[2])
    if fault:
        yield Problem("SCHEMA006", f"key {names.shown(keyed[2])} in fieldPath {fault}", at)


def resource_reference(
    reference: dict[str, Any], path: Path, containers: set[str] | None
) -> Iterator[Problem]:
    """The problems of a ``resourceFieldRef``.

    ``containers`` are the names that containerName may hold; None inside a container, which is its own.
    """
    resource = text(reference, "resource")
    found = _RESOURCE.match(resource)
    if resource and found is None:
        message = f"resource {names.shown(resource)} must be limits.NAME or requests.NAME"
        help = "NAME is cpu, memory, ephemeral-storage or hugepages-SIZE"
        yield Problem("SCHEMA004", message, (*path, "resource"), help=help)
    name = text(reference, "containerName")
    if containers is not None and not name:
        yield Problem("SCHEMA003", "resourceFieldRef of a volume needs a containerName", path)
    elif containers is not None and name not in containers:
        yield Problem("SCHEMA008", f"no container {names.shown(name)} in this Pod", (*path, "containerName"))
    units = quantities.parse(reference.get("divisor"))
    if found is not None and units:
        allowed = _DIVISORS["cpu"] if found[2] == "cpu" else _DIVISORS[""] + _BINARY_DIVISORS
        if units not in allowed:
            wanted = "1m or 1" if found[2] == "cpu" else "1 or one unit, such as 1k, 1Mi or 1Gi"
            message = f"divisor of {resource} must be {wanted}, not {reference['divisor']}"
            yield Problem("SCHEMA004", message, (*path, "divisor"))
