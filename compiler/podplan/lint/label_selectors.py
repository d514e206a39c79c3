"""Label selectors of Kubernetes, on what is known offline.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.kubernetes.label_selectors import NAMESPACE_NAME_LABEL, matches_selector


def is_selected(body: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
    """Whether a policy with this body is about an object, as far as is known.

    Of a namespace only its name is known, so that conditions on its other labels count as met; so do all
    conditions if the object does not state its namespace.
    """
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    names = body.get("resourceNames", {}).get(document.get("kind"))
    if names and metadata.get("name") not in names:
        return False
    labels = metadata.get("labels")
    if not all(
        matches_selector(selector, labels if isinstance(labels, dict) else {})
        for selector in body.get("objectSelectors", ())
    ):
        return False
    namespace = metadata.get("namespace")
    return not isinstance(namespace, str) or all(
        matches_selector(_restrict_to_name_label(selector), {NAMESPACE_NAME_LABEL: namespace})
        for selector in body.get("namespaceSelectors", ())
    )


def iter_unknown_label_keys(selector: Mapping[str, Any]) -> Iterator[str]:
    """The labels of a namespace that a selector requires and that are not known offline."""
    yield from (key for key in selector.get("matchLabels") or {} if key != NAMESPACE_NAME_LABEL)
    for expression in selector.get("matchExpressions") or ():
        if expression.get("key") != NAMESPACE_NAME_LABEL:
            yield str(expression.get("key"))


def _restrict_to_name_label(selector: Mapping[str, Any]) -> dict[str, Any]:
    labels, expressions = selector.get("matchLabels") or {}, selector.get("matchExpressions") or ()
    return {
        "matchLabels": {key: value for key, value in labels.items() if key == NAMESPACE_NAME_LABEL},
        "matchExpressions": [one for one in expressions if one.get("key") == NAMESPACE_NAME_LABEL],
    }
