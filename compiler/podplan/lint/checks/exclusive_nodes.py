"""Replicas that must run on different nodes but may use too few nodes.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.kubernetes.label_selectors import matches_selector
from podplan.lint.analysis.jobs import find_replica_places
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_ANTI_AFFINITY: Path = ("spec", "affinity", "podAntiAffinity", _REQUIRED)
_NODE_AFFINITY: Path = ("spec", "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")


@check(requires=("affinity",))
def too_few_nodes(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Pods that exclude each other from a node, and may run on fewer nodes than there are Pods.

    Values: ``pods``, ``key``, ``allowed``.
    """
    group = target.group
    if group is None or group.replicas < 2:
        return
    labels = get_mapping(get_mapping(target.data, "metadata"), "labels")
    affinity = get_mapping(get_mapping(target.data, "spec"), "affinity")
    for at, term in get_entries(get_mapping(affinity, "podAntiAffinity"), _REQUIRED):
        selector = term.get("labelSelector")
        key = get_text(term, "topologyKey")
        if not isinstance(selector, dict) or not matches_selector(selector, labels):
            continue
        allowed = _find_allowed(get_mapping(target.data, "spec"), key)
        if allowed is not None and allowed[0] < group.replicas:
            number, path = allowed
            values = {
                "pods": format_count(group.replicas, "Pod"),
                "key": key,
                "allowed": format_count(number, "value"),
            }
            related = [(target.doc, (*_ANTI_AFFINITY, at), "the anti-affinity")]
            place = find_replica_places(target.job).get(group.replica_type)
            yield Violation(path, values, [*related, *([place] if place is not None else [])])
            return


def _find_allowed(spec: Mapping[str, Any], key: str) -> tuple[int, Path] | None:
    """Return how many values of a node label a Pod allows, and the path that states it; None if unlimited."""
    if isinstance(get_mapping(spec, "nodeSelector").get(key), str):
        return 1, ("spec", "nodeSelector", key)
    required = get_mapping(get_mapping(get_mapping(spec, "affinity"), "nodeAffinity"), _REQUIRED)
    allowed: set[str] = set()
    found: Path | None = None
    for number, term in get_entries(required, "nodeSelectorTerms"):
        lists = [
            (at, [value for _, value in get_texts(one, "values")])
            for at, one in get_entries(term, "matchExpressions")
            if get_text(one, "key") == key and get_text(one, "operator") == "In"
        ]
        if not lists:
            return None
        at, values = min(lists, key=lambda each: len(each[1]))
        allowed |= set(values)
        found = found or (*_NODE_AFFINITY, number, "matchExpressions", at, "values")
    return (len(allowed), found) if found is not None else None
