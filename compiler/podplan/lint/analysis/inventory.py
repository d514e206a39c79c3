"""Lookups in the ClusterInventory for checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import Any
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import get_entries, get_mapping
from podplan.lint.analysis.jobs import find_written_path, format_list
from podplan.lint.target import LoweredJob

# Labels that Kubernetes itself gives to nodes; an inventory need not repeat them.
WELL_KNOWN_LABEL_PREFIXES = (
    "kubernetes.io/",
    "node.kubernetes.io/",
    "topology.kubernetes.io/",
    "beta.kubernetes.io/",
)


def get_section(job: LoweredJob, name: str) -> Mapping[str, Any]:
    """Return a section of the inventory by the names of its entries; empty if it is missing."""
    return get_mapping(job.inventory.data.get("spec"), name) if job.inventory is not None else {}


def get_entry(job: LoweredJob, section_name: str, name: str) -> Mapping[str, Any]:
    """Return an entry of a section; empty if it is missing or has no fields."""
    return get_mapping(get_section(job, section_name), name)


def find_inventory_place(job: LoweredJob, *path: str) -> list[tuple[TracedDocument, Path, str]]:
    """Return a part of the inventory as a related location, up to the last key that exists."""
    inventory = job.inventory
    if inventory is None:
        return []
    return [(inventory, find_written_path(inventory.data, "spec", *path), "the inventory")]


def describe_absence(name: str, known_names: Iterable[str], limit: int = 6) -> str:
    """Describe that the inventory lacks a name, with a suggestion or the names that it has."""
    suggestion = suggest_phrase(name, known_names) or f", which has {format_list(sorted(known_names), limit)}"
    return f"is not in the inventory{suggestion}"


def describe_namespaces(entry: Mapping[str, Any]) -> str:
    """Describe the namespaces of an entry of the inventory: "the namespaces nlp and vision"."""
    names = [str(one) for one in entry["namespaces"]]
    return f"the namespace{'s' if len(names) > 1 else ''} {format_list(names, 6)}"


def is_available_in(entry: Mapping[str, Any], namespace: str) -> bool:
    """Whether an entry of the inventory exists in a namespace; true if the namespace is not known."""
    namespaces = entry.get("namespaces")
    return not isinstance(namespaces, list) or not namespaces or not namespace or namespace in namespaces


def find_eligible_node_groups(job: LoweredJob, spec: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return the node groups that a Pod may run on, and why it may not run on the last of the others.

    Looks at node selectors, required node affinity and taints; what an inventory does not say (a group
    without labels) keeps nothing away.
    """
    names: list[str] = []
    last_obstacle = ""
    for name in get_section(job, "nodes"):
        group = get_entry(job, "nodes", name)
        obstacle = (
            _explain_selector_mismatch(group, spec)
            or _explain_affinity_mismatch(group, spec)
            or _explain_untolerated_taint(group, spec)
        )
        if obstacle:
            last_obstacle = f"{name}: {obstacle}"
        else:
            names.append(name)
    return names, last_obstacle


def get_allocatable(job: LoweredJob, node_group: str, resource: str) -> int | None:
    """Return the allocatable amount of one node, in 10⁻⁹; None if the inventory does not state it."""
    amounts = get_mapping(get_entry(job, "nodes", node_group), "allocatable")
    if resource in amounts:
        return quantities.parse_quantity(amounts[resource])
    return 0 if amounts and "/" in resource else None


def _explain_selector_mismatch(group: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    for key, value in get_mapping(spec, "nodeSelector").items():
        if not _may_have_label(group, key, [value]):
            return f"its nodes do not have the label {key}={value}"
    return ""


def _may_have_label(group: Mapping[str, Any], key: object, values: list[Any] | None) -> bool:
    """Whether nodes of a group have a label, or may have it because the inventory does not list labels."""
    labels = get_mapping(group, "labels")
    if (
        not labels
        or not isinstance(key, str)
        or (key not in labels and key.startswith(WELL_KNOWN_LABEL_PREFIXES))
    ):
        return True
    return key in labels and (values is None or labels[key] in values)


def _explain_affinity_mismatch(group: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    required = get_mapping(
        get_mapping(get_mapping(spec, "affinity"), "nodeAffinity"),
        "requiredDuringSchedulingIgnoredDuringExecution",
    )
    terms = [term for _, term in get_entries(required, "nodeSelectorTerms")]
    if terms and not any(_matches_term(group, term) for term in terms):
        return "its nodes do not match the node affinity"
    return ""


def _matches_term(group: Mapping[str, Any], term: Mapping[str, Any]) -> bool:
    for _, expression in get_entries(term, "matchExpressions"):
        key, values = expression.get("key"), expression.get("values")
        value_list = values if isinstance(values, list) else []
        operator = expression.get("operator")
        if operator == "In" and not _may_have_label(group, key, value_list):
            return False
        if operator == "Exists" and not _may_have_label(group, key, None):
            return False
        label_value = get_mapping(group, "labels").get(key) if isinstance(key, str) else None
        if label_value is not None and (
            operator == "DoesNotExist" or (operator == "NotIn" and label_value in value_list)
        ):
            return False
    return True


def _explain_untolerated_taint(group: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    tolerations = [toleration for _, toleration in get_entries(spec, "tolerations")]
    for _, taint in get_entries(group, "taints"):
        if taint.get("effect") != "PreferNoSchedule" and not any(_tolerates(t, taint) for t in tolerations):
            value = f"={taint['value']}" if taint.get("value") else ""
            return f"the Pod does not tolerate their taint {taint.get('key')}{value}:{taint.get('effect')}"
    return ""


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/"""
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if not toleration.get("key"):
        return toleration.get("operator") == "Exists"
    if toleration["key"] != taint.get("key"):
        return False
    return toleration.get("operator") == "Exists" or (toleration.get("value") or "") == (
        taint.get("value") or ""
    )


def iter_node_groups_with(job: LoweredJob, resource: str) -> Iterator[tuple[str, int]]:
    """Yield the node groups that have a resource, with the amount in 10⁻⁹."""
    for name in get_section(job, "nodes"):
        amount = get_allocatable(job, name, resource)
        if amount:
            yield name, amount
