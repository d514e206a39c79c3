"""Where a Pod may run: tolerations, affinity, node selection and topology spread."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Path, Problem
from podplan.core.typing import Any
from podplan.kubernetes import names
from podplan.kubernetes.accessors import entries, mapping, size, text, texts

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def check(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the scheduling fields of a PodSpec."""
    for index, toleration in entries(spec, "tolerations"):
        yield from _toleration(toleration, (*path, "tolerations", index))
    if "affinity" in spec:
        affinity, at = mapping(spec, "affinity"), (*path, "affinity")
        yield from _node_affinity(mapping(affinity, "nodeAffinity"), (*at, "nodeAffinity"))
        for kind in ("podAffinity", "podAntiAffinity"):
            yield from _pod_affinity(mapping(affinity, kind), (*at, kind))
    if "topologySpreadConstraints" in spec:
        yield from _spread(spec, path)


def _toleration(toleration: dict[str, Any], path: Path) -> Iterator[Problem]:
    operator, value = text(toleration, "operator"), text(toleration, "value")
    if not text(toleration, "key") and operator != "Exists":
        message = "a toleration without a key needs operator: Exists"
        yield Problem("SCHEMA009", message, (*path, "operator"))
    if operator == "Exists" and value:
        message = f"operator Exists takes no value; it has {names.shown(value)}"
        yield Problem("SCHEMA009", message, (*path, "operator"), related=(((*path, "value"), "the value"),))
    elif operator in ("", "Equal") and value:
        fault = names.fault("label-value", value)
        if fault:
            # The API server blames the operator, which asks for the comparison.
            message = f"value {names.shown(value)} {fault}"
            yield Problem(
                "SCHEMA006", message, (*path, "operator"), related=(((*path, "value"), "the value"),)
            )
    elif operator in ("Lt", "Gt") and not _is_integer(value):
        message = f"operator {operator} compares integers; value is {names.shown(value)}"
        yield Problem("SCHEMA006", message, (*path, "operator"), related=(((*path, "value"), "the value"),))
    if "tolerationSeconds" in toleration and toleration.get("effect") != "NoExecute":
        related = (((*path, "tolerationSeconds"), "set here"),)
        yield Problem(
            "SCHEMA009", "tolerationSeconds needs effect: NoExecute", (*path, "effect"), related=related
        )


def _is_integer(value: str) -> bool:
    return value.removeprefix("-").isdecimal() and value.isascii() and len(value) < 20


def _node_affinity(affinity: dict[str, Any], path: Path) -> Iterator[Problem]:
    for index, term in entries(mapping(affinity, _REQUIRED), "nodeSelectorTerms"):
        yield from _node_term(term, (*path, _REQUIRED, "nodeSelectorTerms", index))
    for index, preferred in entries(affinity, _PREFERRED):
        yield from _node_term(mapping(preferred, "preference"), (*path, _PREFERRED, index, "preference"))


def _node_term(term: dict[str, Any], path: Path) -> Iterator[Problem]:
    for index, wanted in entries(term, "matchExpressions"):
        at = (*path, "matchExpressions", index)
        yield from _values(wanted, at)
        for number, value in texts(wanted, "values"):
            fault = names.fault("label-value", value)
            if fault and wanted.get("operator") in ("In", "NotIn"):
                yield Problem("SCHEMA006", f"value {names.shown(value)} {fault}", (*at, "values", number))
    for index, wanted in entries(term, "matchFields"):
        at = (*path, "matchFields", index)
        if text(wanted, "key") not in ("", "metadata.name"):
            message = f"key of matchFields must be metadata.name, not {names.shown(wanted['key'])}"
            yield Problem("SCHEMA004", message, (*at, "key"))
        if wanted.get("operator") not in ("In", "NotIn"):
            yield Problem("SCHEMA004", "operator of matchFields must be In or NotIn", (*at, "operator"))
        if size(wanted, "values") != 1:
            yield Problem("SCHEMA005", "matchFields needs exactly one value", (*at, "values"))


def _values(wanted: dict[str, Any], path: Path) -> Iterator[Problem]:
    operator, count = wanted.get("operator"), size(wanted, "values")
    at = (*path, "values")
    if operator in ("In", "NotIn") and not count:
        yield Problem("SCHEMA003", f"operator {operator} needs at least one entry in values", at)
    elif operator in ("Exists", "DoesNotExist") and count:
        yield Problem("SCHEMA009", f"operator {operator} takes no values", at)
    elif operator in ("Gt", "Lt") and count != 1:
        yield Problem("SCHEMA005", f"operator {operator} takes exactly one value, not {count}", at)


def _pod_affinity(affinity: dict[str, Any], path: Path) -> Iterator[Problem]:
    for index, term in entries(affinity, _REQUIRED):
        yield from _pod_term(term, (*path, _REQUIRED, index))
    for index, preferred in entries(affinity, _PREFERRED):
        yield from _pod_term(
            mapping(preferred, "podAffinityTerm"), (*path, _PREFERRED, index, "podAffinityTerm")
        )


def _pod_term(term: dict[str, Any], path: Path) -> Iterator[Problem]:
    for selector in ("labelSelector", "namespaceSelector"):
        if selector in term:
            yield from label_selector(mapping(term, selector), (*path, selector))
    first = {key for _, key in texts(term, "matchLabelKeys")}
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        if size(term, field) and "labelSelector" not in term:
            yield Problem("SCHEMA009", f"{field} needs a labelSelector", (*path, field))
    for index, key in texts(term, "mismatchLabelKeys"):
        if key in first:
            message = f"key {names.shown(key)} is in matchLabelKeys and in mismatchLabelKeys"
            yield Problem("SCHEMA009", message, (*path, "mismatchLabelKeys", index))


def label_selector(selector: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the expressions of a LabelSelector."""
    for index, wanted in entries(selector, "matchExpressions"):
        at = (*path, "matchExpressions", index)
        yield from _values(wanted, at)
        for number, value in texts(wanted, "values"):
            fault = names.fault("label-value", value)
            if fault:
                yield Problem("SCHEMA006", f"value {names.shown(value)} {fault}", (*at, "values", number))


def _spread(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    seen: dict[tuple[str, str], Path] = {}
    for index, constraint in entries(spec, "topologySpreadConstraints"):
        at = (*path, "topologySpreadConstraints", index)
        key = (text(constraint, "topologyKey"), text(constraint, "whenUnsatisfiable"))
        if all(key) and key in seen:
            message = f"topologyKey {names.shown(key[0])} with {key[1]} is used twice"
            yield Problem("SCHEMA007", message, at, related=((seen[key], "the first"),))
        seen.setdefault(key, at)
        if "minDomains" in constraint and key[1] == "ScheduleAnyway":
            message = "minDomains needs whenUnsatisfiable: DoNotSchedule"
            yield Problem("SCHEMA009", message, (*at, "minDomains"))
        selector = mapping(constraint, "labelSelector")
        yield from label_selector(selector, (*at, "labelSelector"))
        if size(constraint, "matchLabelKeys") and "labelSelector" not in constraint:
            yield Problem("SCHEMA009", "matchLabelKeys needs a labelSelector", (*at, "matchLabelKeys"))
        for number, label in texts(constraint, "matchLabelKeys"):
            if label in mapping(selector, "matchLabels"):
                message = f"key {names.shown(label)} is in matchLabelKeys and in the labelSelector"
                yield Problem("SCHEMA009", message, (*at, "matchLabelKeys", number))
