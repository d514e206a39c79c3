"""Label selectors of Kubernetes.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors.
"""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts

NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"


# The labels of an object in their order, as a key.
Labels = tuple[tuple[str, str], ...]


def sort_labels(labels: Mapping[str, Any]) -> Labels:
    """Return labels, or those that a selector requires, as a key."""
    return tuple(sorted((str(key), str(value)) for key, value in labels.items()))


def read_labels(manifest: Mapping[str, Any]) -> Labels:
    """Return the labels of an object."""
    return sort_labels(get_mapping(get_mapping(manifest, "metadata"), "labels"))


def matches_selector(selector: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    """Whether labels fulfil a selector, which may be invalid; an empty one takes all."""
    required_labels = get_mapping(selector, "matchLabels")
    return all(labels.get(key) == value for key, value in required_labels.items()) and all(
        _matches_expression(one, labels) for _, one in get_entries(selector, "matchExpressions")
    )


def _matches_expression(expression: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    key, operator = get_text(expression, "key"), get_text(expression, "operator")
    if operator in ("In", "NotIn"):
        values = [value for _, value in get_texts(expression, "values")]
        return (labels.get(key) in values) == (operator == "In")
    return (key in labels) == (operator == "Exists")
