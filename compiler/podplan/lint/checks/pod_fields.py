"""Variables with labels and annotations of their Pod, which the Pod does not have.

Source: docs/evidence/jobset.md#labels-in-variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_FIELD = compile_lazily(r"metadata\.(?P<field>labels|annotations)\['(?P<key>[^']+)'\]")
_T9K = "batch.tensorstack.dev/"
_OF_OTHER_KINDS = ("apps.kubernetes.io", "batch.kubernetes.io", "jobset.sigs.k8s.io", "training.kubeflow.org")
_NOUNS = {"labels": "label", "annotations": "annotation"}
# Prefixes of keys that other controllers and the API server add to queued or scheduled Pods.
_WRITTEN_LATER = ("kueue.x-k8s.io", "topology.kubernetes.io")


@check()
def missing_pod_field(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A variable with a label or annotation of the controller that the Pod lacks. Values: ``name``,
    ``missing``, ``hint``."""
    metadata = get_mapping(target.doc.data, "metadata")
    for index, entry in get_entries(target.data, "env"):
        reference = get_mapping(get_mapping(entry, "valueFrom"), "fieldRef")
        match = _FIELD.fullmatch(get_text(reference, "fieldPath"))
        if match is None or match["key"] in get_mapping(metadata, match["field"]):
            continue
        is_t9k = target.job.cr is not None and str(target.job.cr.data.get("apiVersion")).startswith(_T9K)
        hint = _find_hint_of_t9k(match["key"]) if is_t9k else _find_hint(metadata, match["key"])
        if hint is not None:
            missing = f"{_NOUNS[match['field']]} {match['key']}"
            values = {"name": get_text(entry, "name"), "missing": missing, "hint": hint}
            yield Violation(("env", index, "valueFrom", "fieldRef", "fieldPath"), values)


def _find_hint_of_t9k(key: str) -> str | None:
    """Describe a key that no controller of T9k adds; None if one may.

    Only some labels of its Pods are documented (docs/evidence/t9k-genericjob.md), all with a prefix of its
    own or without one.
    """
    domain = key.rpartition("/")[0]
    return ", because it is added to the Pods of other kinds" if domain in _OF_OTHER_KINDS else None


def _find_hint(metadata: Mapping[str, Any], key: str) -> str | None:
    """Describe the key that a Pod has instead; None if the key may be added later.

    The controllers add all their labels when they create a Pod; only uids are not known offline.
    """
    domain, _, name = key.rpartition("/")
    if domain in _WRITTEN_LATER or name.endswith("uid"):
        return None
    present = [(field, one) for field in _NOUNS for one in get_mapping(metadata, field)]
    same = [(field, one) for field, one in present if one.rpartition("/")[2] == name]
    same.sort(key=lambda field_and_key: field_and_key[1] != key)
    if same:
        field, one = same[0]
        return f"; they have the {_NOUNS[field]} {one}"
    domains = {one.rpartition("/")[0] for _, one in present}
    return "" if domain.endswith(("k8s.io", "kubernetes.io")) and domain in domains else None
