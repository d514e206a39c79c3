"""What the ClusterInventory says, as checks look it up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from podplan.core.suggestions import did_you_mean
from podplan.core.typing import Any
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import entries, mapping
from podplan.lint.analysis.jobs import shown_list
from podplan.lint.target import Job

# Labels that Kubernetes itself gives to nodes; an inventory need not repeat them.
WELL_KNOWN = ("kubernetes.io/", "node.kubernetes.io/", "topology.kubernetes.io/", "beta.kubernetes.io/")


def section(job: Job, name: str) -> Mapping[str, Any]:
    """A section of the inventory by the names of its entries; empty where it has none."""
    return mapping(job.inventory.data.get("spec"), name) if job.inventory is not None else {}


def entry(job: Job, of: str, name: str) -> Mapping[str, Any]:
    """One entry of a section; empty where there is none or nothing is said of it."""
    return mapping(section(job, of), name)


def absent(name: str, known: Iterable[str], most: int = 6) -> str:
    """That the inventory does not have a name, with the one that was meant, or else those that it has."""
    hint = did_you_mean(name, known) or f", which has {shown_list(sorted(known), most)}"
    return f"is not in the inventory{hint}"


def elsewhere(entry: Mapping[str, Any]) -> str:
    """The namespaces that something of the inventory is for: "the namespaces nlp and vision"."""
    names = [str(one) for one in entry["namespaces"]]
    return f"the namespace{'s' if len(names) > 1 else ''} {shown_list(names, 6)}"


def is_for(entry: Mapping[str, Any], namespace: str) -> bool:
    """Whether something of the inventory exists in a namespace; without a namespace nothing is known."""
    allowed = entry.get("namespaces")
    return not isinstance(allowed, list) or not allowed or not namespace or namespace in allowed


def eligible(job: Job, spec: Mapping[str, Any]) -> tuple[list[str], str]:
    """The node groups that a Pod may run on, and what keeps it from the last one that it may not.

    Looks at node selectors, required node affinity and taints; what an inventory does not say (a group
    without labels) keeps nothing away.
    """
    names: list[str] = []
    why_not = ""
    for name in section(job, "nodes"):
        group = entry(job, "nodes", name)
        obstacle = _unselected(group, spec) or _unaffine(group, spec) or _untolerated(group, spec)
        if obstacle:
            why_not = f"{name}: {obstacle}"
        else:
            names.append(name)
    return names, why_not


def allocatable(job: Job, node_group: str, resource: str) -> int | None:
    """What Pods may use of one node, in 10⁻⁹; None where the inventory does not say."""
    amounts = mapping(entry(job, "nodes", node_group), "allocatable")
    if resource in amounts:
        return quantities.parse(amounts[resource])
    return 0 if amounts and "/" in resource else None


def _unselected(group: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    for key, value in mapping(spec, "nodeSelector").items():
        if not _has(group, key, [value]):
            return f"its nodes do not have the label {key}={value}"
    return ""


def _has(group: Mapping[str, Any], key: object, values: list[Any] | None) -> bool:
    """Whether nodes of a group have a label, or may have it for all that is known."""
    labels = mapping(group, "labels")
    if not labels or not isinstance(key, str) or (key not in labels and key.startswith(WELL_KNOWN)):
        return True
    return key in labels and (values is None or labels[key] in values)


def _unaffine(group: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    required = mapping(
        mapping(mapping(spec, "affinity"), "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution"
    )
    terms = [term for _, term in entries(required, "nodeSelectorTerms")]
    if terms and not any(_fulfils(group, term) for term in terms):
        return "its nodes do not fulfil the node affinity"
    return ""


def _fulfils(group: Mapping[str, Any], term: Mapping[str, Any]) -> bool:
    for _, wanted in entries(term, "matchExpressions"):
        key, values = wanted.get("key"), wanted.get("values")
        listed = values if isinstance(values, list) else []
        operator = wanted.get("operator")
        if operator == "In" and not _has(group, key, listed):
            return False
        if operator == "Exists" and not _has(group, key, None):
            return False
        said = mapping(group, "labels").get(key) if isinstance(key, str) else None
        if said is not None and (operator == "DoesNotExist" or (operator == "NotIn" and said in listed)):
            return False
    return True


def _untolerated(group: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    tolerations = [toleration for _, toleration in entries(spec, "tolerations")]
    for _, taint in entries(group, "taints"):
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


def node_groups_with(job: Job, resource: str) -> Iterator[tuple[str, int]]:
    """The node groups that have a resource, and how much of it in 10⁻⁹."""
    for name in section(job, "nodes"):
        amount = allocatable(job, name, resource)
        if amount:
            yield name, amount
