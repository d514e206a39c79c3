"""Environment variables of a container: one source each, and references that Kubernetes supports."""

from __future__ import annotations

import re
from collections.abc import Iterator

from podplan.core.findings import Diagnostic, Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes import names, quantities
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.kubernetes.messages import diagnose_not_allowed

VALUE_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
ENV_FIELDS = (
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
FILE_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.labels",
    "metadata.annotations",
)
_RESOURCE_PATTERN = compile_lazily(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)\Z")
_KEYED_FIELD_PATTERN = compile_lazily(r"metadata\.(labels|annotations)\['(.*)'\]\Z", re.DOTALL)
_DIVISORS = {
    "cpu": (quantities.UNITS_PER_ONE // 1000, quantities.UNITS_PER_ONE),
    "": tuple(quantities.UNITS_PER_ONE * unit for unit in (1, *(10**n for n in (3, 6, 9, 12, 15, 18)))),
}
_BINARY_DIVISORS = tuple(quantities.UNITS_PER_ONE * 2**n for n in (10, 20, 30, 40, 50, 60))


def validate_environment(container: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    """Yield the diagnostics of ``env`` and ``envFrom`` of a container."""
    for index, variable in get_entries(container, "env"):
        if "valueFrom" in variable:
            yield from _validate_value_from(variable, (*path, "env", index, "valueFrom"))
    for index, source in get_entries(container, "envFrom"):
        source_path = (*path, "envFrom", index)
        references = [name for name in ("configMapRef", "secretRef") if name in source]
        if not references:
            yield Diagnostic("SCHEMA003", "envFrom needs a configMapRef or a secretRef", source_path)
        elif len(references) > 1:
            yield Diagnostic(
                "SCHEMA009", "envFrom must have configMapRef or secretRef, not both", source_path
            )


def _validate_value_from(variable: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    source = variable["valueFrom"]
    if not isinstance(source, dict):
        return
    given_sources = [name for name in VALUE_SOURCES if name in source]
    if get_text(variable, "value") and given_sources:
        related = (((*path[:-1], "value"), "the value"),)
        yield Diagnostic(
            "SCHEMA009", "value and valueFrom exclude each other; keep one of them", path, related=related
        )
    elif not given_sources:
        yield Diagnostic("SCHEMA003", f"valueFrom needs one of {', '.join(VALUE_SOURCES[:-1])}", path)
    elif len(given_sources) > 1:
        yield Diagnostic(
            "SCHEMA009",
            f"valueFrom must have one source, not {len(given_sources)} ({', '.join(given_sources)})",
            path,
        )
    if "fieldRef" in source:
        yield from validate_field_reference(get_mapping(source, "fieldRef"), ENV_FIELDS, (*path, "fieldRef"))
    if "resourceFieldRef" in source:
        yield from validate_resource_reference(
            get_mapping(source, "resourceFieldRef"), (*path, "resourceFieldRef"), None
        )


def validate_field_reference(
    reference: dict[str, Any], allowed: tuple[str, ...], path: Path
) -> Iterator[Diagnostic]:
    """Yield a diagnostic if a ``fieldRef`` names neither one of ``allowed`` nor a single label or
    annotation."""
    field = get_text(reference, "fieldPath")
    if not field or field in allowed:
        return
    field_path = (*path, "fieldPath")
    match = _KEYED_FIELD_PATTERN.match(field)
    if match is None:
        help = "a label or annotation is metadata.labels['KEY'] or metadata.annotations['KEY']"
        yield diagnose_not_allowed(field, list(allowed), field_path)._replace(help=help)
        return
    mismatch = names.explain_mismatch(
        "qualified-name" if match[1] == "labels" else "annotation-key", match[2]
    )
    if mismatch:
        yield Diagnostic(
            "SCHEMA006", f"key {names.format_value(match[2])} in fieldPath {mismatch}", field_path
        )


def validate_resource_reference(
    reference: dict[str, Any], path: Path, containers: set[str] | None
) -> Iterator[Diagnostic]:
    """Yield the diagnostics of a ``resourceFieldRef``.

    ``containers`` are the valid values of containerName; None inside a container, which is the default.
    """
    resource = get_text(reference, "resource")
    match = _RESOURCE_PATTERN.match(resource)
    if resource and match is None:
        message = f"resource {names.format_value(resource)} must be limits.NAME or requests.NAME"
        help = "NAME is cpu, memory, ephemeral-storage or hugepages-SIZE"
        yield Diagnostic("SCHEMA004", message, (*path, "resource"), help=help)
    name = get_text(reference, "containerName")
    if containers is not None and not name:
        yield Diagnostic("SCHEMA003", "resourceFieldRef of a volume needs a containerName", path)
    elif containers is not None and name not in containers:
        yield Diagnostic(
            "SCHEMA008", f"the Pod has no container {names.format_value(name)}", (*path, "containerName")
        )
    divisor_units = quantities.parse_quantity(reference.get("divisor"))
    if match is not None and divisor_units:
        allowed = _DIVISORS["cpu"] if match[2] == "cpu" else _DIVISORS[""] + _BINARY_DIVISORS
        if divisor_units not in allowed:
            expected = "1m or 1" if match[2] == "cpu" else "1 or one unit, such as 1k, 1Mi or 1Gi"
            message = f"divisor of {resource} must be {expected}, not {reference['divisor']}"
            yield Diagnostic("SCHEMA004", message, (*path, "divisor"))
