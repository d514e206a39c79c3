"""Constraints on a HorizontalPodAutoscaler of autoscaling/v2.

Source: https://github.com/kubernetes/kubernetes/blob/v1.37.0/pkg/apis/autoscaling/validation/validation.go,
and for minReplicas: 0 https://kubernetes.io/blog/2026/09/02/kubernetes-v1-37-hpa-scale-to-zero-beta/.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic, Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_number, get_text
from podplan.kubernetes.messages import diagnose_not_allowed
from podplan.kubernetes.quantities import parse_quantity

# Of each type of a metric: the field with its source, and the fields of its target of which it needs one.
_SOURCES = {
    "Object": ("object", ("value", "averageValue")),
    "Pods": ("pods", ("averageValue",)),
    "Resource": ("resource", ("averageUtilization", "averageValue")),
    "ContainerResource": ("containerResource", ("averageUtilization", "averageValue")),
    "External": ("external", ("value", "averageValue")),
}
_TYPES_WITHOUT_PODS = ("Object", "External")
_TYPES_WITH_ONE_TARGET = ("Resource", "ContainerResource", "External")
_TARGET_TYPES = ("Utilization", "Value", "AverageValue")
_SCALES_TO_ZERO_SINCE = 37


def validate_autoscaler_spec(spec: dict[str, Any], path: Path, minor_version: int) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the bounds and the metrics of a HorizontalPodAutoscalerSpec."""
    minimum, maximum = get_number(spec, "minReplicas"), get_number(spec, "maxReplicas")
    has_value_without_pods = any(
        get_text(metric, "type") in _TYPES_WITHOUT_PODS for _, metric in get_entries(spec, "metrics")
    )
    lowest = 0 if minor_version >= _SCALES_TO_ZERO_SINCE and has_value_without_pods else 1
    if "minReplicas" in spec and minimum < lowest:
        message = f"minReplicas must be at least {lowest}, not {minimum}"
        yield Diagnostic("SCHEMA005", message, (*path, "minReplicas"))
    elif maximum < 1:
        message = f"maxReplicas must be at least 1, not {maximum}"
        yield Diagnostic("SCHEMA005", message, (*path, "maxReplicas"))
    elif maximum < minimum:
        related = (((*path, "minReplicas"), "minReplicas is here"),)
        message = f"maxReplicas {maximum} is below minReplicas {minimum}"
        yield Diagnostic("SCHEMA009", message, (*path, "maxReplicas"), related=related)
    for index, metric in get_entries(spec, "metrics"):
        yield from _validate_metric(metric, (*path, "metrics", index))


def _validate_metric(metric: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    type_ = get_text(metric, "type")
    if type_ not in _SOURCES:
        yield diagnose_not_allowed(type_, list(_SOURCES), (*path, "type"))
        return
    field, target_fields = _SOURCES[type_]
    for name, _ in _SOURCES.values():
        if name != field and name in metric:
            message = f"a metric of type {type_} has the field {field} alone, not {name}"
            yield Diagnostic("SCHEMA009", message, (*path, name), on_key=True)
    if field not in metric:
        yield Diagnostic("SCHEMA003", f"a metric of type {type_} needs the field {field}", path)
        return
    target = get_mapping(metric[field], "target")
    if target:
        yield from _validate_target(type_, target, target_fields, (*path, field, "target"))


def _validate_target(
    type_: str, target: dict[str, Any], fields: tuple[str, ...], path: Path
) -> Iterator[Diagnostic]:
    if get_text(target, "type") not in _TARGET_TYPES:
        yield diagnose_not_allowed(get_text(target, "type"), list(_TARGET_TYPES), (*path, "type"))
    written = [name for name in fields if name in target]
    if not written:
        message = f"the target of a metric of type {type_} needs {' or '.join(fields)}"
        yield Diagnostic("SCHEMA003", message, path)
    elif len(written) > 1 and type_ in _TYPES_WITH_ONE_TARGET:
        message = f"the target of a metric of type {type_} has {written[0]} or {written[1]}, not both"
        yield Diagnostic("SCHEMA009", message, (*path, written[1]), on_key=True)
    for name in ("value", "averageValue", "averageUtilization"):
        amount = target.get(name)
        number = amount if name == "averageUtilization" else parse_quantity(amount)
        if isinstance(number, int) and number <= 0:
            yield Diagnostic("SCHEMA005", f"{name} must be positive, not {amount}", (*path, name))
