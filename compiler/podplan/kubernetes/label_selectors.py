"""Label selectors of Kubernetes.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors.
"""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.typing import Any

NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"


def matches_selector(selector: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    """Whether labels fulfil a selector; an empty one takes all."""
    required_labels = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in required_labels.items()) and all(
        _matches_expression(one, labels) for one in selector.get("matchExpressions") or ()
    )


def _matches_expression(expression: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    key, operator, values = (
        str(expression.get("key")),
        expression.get("operator"),
        expression.get("values") or (),
    )
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    return (key in labels) == (operator == "Exists")
