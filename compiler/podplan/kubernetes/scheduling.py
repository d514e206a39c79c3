"""Scheduling of a Pod: tolerations, affinity, node selection and topology spread."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Diagnostic, Path
from podplan.core.typing import Any
from podplan.kubernetes import names
from podplan.kubernetes.accessors import get_entries, get_mapping, get_size, get_text, get_texts

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def validate_scheduling(spec: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the scheduling fields of a PodSpec."""
    for index, toleration in get_entries(spec, "tolerations"):
        yield from _validate_toleration(toleration, (*path, "tolerations", index))
    if "affinity" in spec:
        affinity, affinity_path = get_mapping(spec, "affinity"), (*path, "affinity")
        yield from _validate_node_affinity(
            get_mapping(affinity, "nodeAffinity"), (*affinity_path, "nodeAffinity")
        )
        for kind in ("podAffinity", "podAntiAffinity"):
            yield from _validate_pod_affinity(get_mapping(affinity, kind), (*affinity_path, kind))
    if "topologySpreadConstraints" in spec:
        yield from _validate_topology_spread(spec, path)


def _validate_toleration(toleration: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    operator, value = get_text(toleration, "operator"), get_text(toleration, "value")
    if not get_text(toleration, "key") and operator != "Exists":
        message = "a toleration without a key needs operator: Exists"
        yield Diagnostic("SCHEMA009", message, (*path, "operator"))
    if operator == "Exists" and value:
        message = f"operator Exists takes no value; it has {names.format_value(value)}"
        yield Diagnostic(
            "SCHEMA009", message, (*path, "operator"), related=(((*path, "value"), "the value"),)
        )
    elif operator in ("", "Equal") and value:
        mismatch = names.explain_mismatch("label-value", value)
        if mismatch:
            # The API server reports the operator, which requires a number.
            message = f"value {names.format_value(value)} {mismatch}"
            yield Diagnostic(
                "SCHEMA006", message, (*path, "operator"), related=(((*path, "value"), "the value"),)
            )
    elif operator in ("Lt", "Gt") and not _is_integer(value):
        message = f"operator {operator} compares integers; value is {names.format_value(value)}"
        yield Diagnostic(
            "SCHEMA006", message, (*path, "operator"), related=(((*path, "value"), "the value"),)
        )
    if "tolerationSeconds" in toleration and toleration.get("effect") != "NoExecute":
        related = (((*path, "tolerationSeconds"), "set here"),)
        yield Diagnostic(
            "SCHEMA009", "tolerationSeconds needs effect: NoExecute", (*path, "effect"), related=related
        )


def _is_integer(value: str) -> bool:
    return value.removeprefix("-").isdecimal() and value.isascii() and len(value) < 20


def _validate_node_affinity(affinity: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    for index, term in get_entries(get_mapping(affinity, _REQUIRED), "nodeSelectorTerms"):
        yield from _validate_node_term(term, (*path, _REQUIRED, "nodeSelectorTerms", index))
    for index, preferred in get_entries(affinity, _PREFERRED):
        yield from _validate_node_term(
            get_mapping(preferred, "preference"), (*path, _PREFERRED, index, "preference")
        )


def _validate_node_term(term: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    for index, requirement in get_entries(term, "matchExpressions"):
        requirement_path = (*path, "matchExpressions", index)
        yield from _validate_values(requirement, requirement_path)
        for number, value in get_texts(requirement, "values"):
            mismatch = names.explain_mismatch("label-value", value)
            if mismatch and requirement.get("operator") in ("In", "NotIn"):
                yield Diagnostic(
                    "SCHEMA006",
                    f"value {names.format_value(value)} {mismatch}",
                    (*requirement_path, "values", number),
                )
    for index, requirement in get_entries(term, "matchFields"):
        requirement_path = (*path, "matchFields", index)
        if get_text(requirement, "key") not in ("", "metadata.name"):
            message = (
                f"key of matchFields must be metadata.name, not {names.format_value(requirement['key'])}"
            )
            yield Diagnostic("SCHEMA004", message, (*requirement_path, "key"))
        if requirement.get("operator") not in ("In", "NotIn"):
            yield Diagnostic(
                "SCHEMA004", "operator of matchFields must be In or NotIn", (*requirement_path, "operator")
            )
        if get_size(requirement, "values") != 1:
            yield Diagnostic(
                "SCHEMA005", "matchFields needs exactly one value", (*requirement_path, "values")
            )


def _validate_values(requirement: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    operator, count = requirement.get("operator"), get_size(requirement, "values")
    values_path = (*path, "values")
    if operator in ("In", "NotIn") and not count:
        yield Diagnostic("SCHEMA003", f"operator {operator} needs at least one entry in values", values_path)
    elif operator in ("Exists", "DoesNotExist") and count:
        yield Diagnostic("SCHEMA009", f"operator {operator} takes no values", values_path)
    elif operator in ("Gt", "Lt") and count != 1:
        yield Diagnostic(
            "SCHEMA005", f"operator {operator} takes exactly one value, not {count}", values_path
        )


def _validate_pod_affinity(affinity: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    for index, term in get_entries(affinity, _REQUIRED):
        yield from _validate_pod_affinity_term(term, (*path, _REQUIRED, index))
    for index, preferred in get_entries(affinity, _PREFERRED):
        yield from _validate_pod_affinity_term(
            get_mapping(preferred, "podAffinityTerm"), (*path, _PREFERRED, index, "podAffinityTerm")
        )


def _validate_pod_affinity_term(term: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    for selector in ("labelSelector", "namespaceSelector"):
        if selector in term:
            yield from validate_label_selector(get_mapping(term, selector), (*path, selector))
    matched_keys = {key for _, key in get_texts(term, "matchLabelKeys")}
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        if get_size(term, field) and "labelSelector" not in term:
            yield Diagnostic("SCHEMA009", f"{field} needs a labelSelector", (*path, field))
    for index, key in get_texts(term, "mismatchLabelKeys"):
        if key in matched_keys:
            message = f"key {names.format_value(key)} is in matchLabelKeys and in mismatchLabelKeys"
            yield Diagnostic("SCHEMA009", message, (*path, "mismatchLabelKeys", index))


def validate_label_selector(selector: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the expressions of a LabelSelector."""
    for index, requirement in get_entries(selector, "matchExpressions"):
        requirement_path = (*path, "matchExpressions", index)
        yield from _validate_values(requirement, requirement_path)
        for number, value in get_texts(requirement, "values"):
            mismatch = names.explain_mismatch("label-value", value)
            if mismatch:
                yield Diagnostic(
                    "SCHEMA006",
                    f"value {names.format_value(value)} {mismatch}",
                    (*requirement_path, "values", number),
                )


def _validate_topology_spread(spec: dict[str, Any], path: Path) -> Iterator[Diagnostic]:
    first_paths: dict[tuple[str, str], Path] = {}
    for index, constraint in get_entries(spec, "topologySpreadConstraints"):
        constraint_path = (*path, "topologySpreadConstraints", index)
        key = (get_text(constraint, "topologyKey"), get_text(constraint, "whenUnsatisfiable"))
        if all(key) and key in first_paths:
            message = f"topologyKey {names.format_value(key[0])} with {key[1]} is used twice"
            yield Diagnostic(
                "SCHEMA007", message, constraint_path, related=((first_paths[key], "the first"),)
            )
        first_paths.setdefault(key, constraint_path)
        if "minDomains" in constraint and key[1] == "ScheduleAnyway":
            message = "minDomains needs whenUnsatisfiable: DoNotSchedule"
            yield Diagnostic("SCHEMA009", message, (*constraint_path, "minDomains"))
        selector = get_mapping(constraint, "labelSelector")
        yield from validate_label_selector(selector, (*constraint_path, "labelSelector"))
        if get_size(constraint, "matchLabelKeys") and "labelSelector" not in constraint:
            yield Diagnostic(
                "SCHEMA009", "matchLabelKeys needs a labelSelector", (*constraint_path, "matchLabelKeys")
            )
        for number, label in get_texts(constraint, "matchLabelKeys"):
            if label in get_mapping(selector, "matchLabels"):
                message = f"key {names.format_value(label)} is in matchLabelKeys and in the labelSelector"
                yield Diagnostic("SCHEMA009", message, (*constraint_path, "matchLabelKeys", number))
