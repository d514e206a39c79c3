"""Whether Pods may run on the nodes of a flavor: tolerations, node selectors and required node affinity."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping

_BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")


def find_untolerated_taint(
    taints: Sequence[Mapping[str, Any]], tolerations: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """Return the first taint that keeps Pods with these tolerations away."""
    return next(
        (
            taint
            for taint in taints
            if taint.get("effect") in _BLOCKING_EFFECTS
            and not any(_tolerates(one, taint) for one in tolerations)
        ),
        None,
    )


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("key") not in (None, "", taint.get("key")):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    if not toleration.get("key"):
        return False
    value, tainted = toleration.get("value") or "", taint.get("value") or ""
    if operator == "Equal":
        return bool(value == tainted)
    return _compares(operator, str(tainted), str(value))


def matches_nodes(
    pod_spec: Mapping[str, Any], labels: Mapping[str, str], keys: Collection[str] | None
) -> bool:
    """Whether the node selector and the required node affinity of a Pod fit labels, as far as they are
    about ``keys``; None is all keys."""
    selector = get_mapping(pod_spec, "nodeSelector")
    if any(labels.get(key) != value for key, value in selector.items() if keys is None or key in keys):
        return False
    affinity = get_mapping(get_mapping(pod_spec, "affinity"), "nodeAffinity")
    required = get_mapping(affinity, "requiredDuringSchedulingIgnoredDuringExecution")
    terms = [term for _, term in get_entries(required, "nodeSelectorTerms")]
    if not terms:
        return True
    for term in terms:
        expressions = [
            one for _, one in get_entries(term, "matchExpressions") if keys is None or one.get("key") in keys
        ]
        if all(_matches(one, labels) for one in expressions):  # also a term about other labels only
            return True
    return False


def _matches(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, operator = str(expression.get("key")), expression.get("operator")
    written = expression.get("values")
    values = [str(one) for one in written] if isinstance(written, list) else []
    if operator == "In":
        return labels.get(key) in values
    if operator == "NotIn":
        return labels.get(key) not in values
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    return key in labels and len(values) == 1 and _compares(str(operator), labels[key], values[0])


def _compares(operator: str, value: str, limit: str) -> bool:
    """Whether a number is greater or less than a limit, for texts that are integers."""
    try:
        first, second = int(value), int(limit)
    except ValueError:
        return False
    return (operator == "Gt" and first > second) or (operator == "Lt" and first < second)
