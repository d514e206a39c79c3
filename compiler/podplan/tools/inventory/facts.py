"""The facts that objects in the repository state about the cluster, each with its line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from podplan.cluster.amounts import format_amount
from podplan.cluster.model import Cluster, FlavorQuotas, KueueConfiguration, LimitRange, ResourceGroup
from podplan.cluster.namespace_limits import is_counted
from podplan.cluster.operators import OperatorOption
from podplan.core.findings import Location
from podplan.core.provenance import Cursor, TracedDocument, root_cursor
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.location import find_source_location
from podplan.tools.inventory.object_facts import iter_object_facts


class Fact(NamedTuple):
    """One fact: the object that states it, the fact in a few words, and the line."""

    kind: str
    name: str
    text: str
    location: Location | None


def iter_facts(
    cluster: Cluster,
    inventories: Sequence[TracedDocument],
    objects: Sequence[TracedDocument] = (),
    explain_unapplied: Callable[[OperatorOption], str] = lambda _: "",
) -> Iterator[Fact]:
    """Yield the facts by kind; the sections of ClusterInventories first, ``objects`` last.

    ``explain_unapplied`` says why a flag of an operator sets no lowering option, "" if it does.
    """
    for document in inventories:
        for section, cursor in root_cursor(document).get("spec").fields().items():
            entries = list(get_mapping(get_mapping(document.data, "spec"), section))
            text = f"{section}: {', '.join(map(str, entries)) or cursor.value}"
            name = get_text(get_mapping(document.data, "metadata"), "name")
            yield _build("ClusterInventory", name, text, cursor)
    for queue in cluster.cluster_queues.values():
        parts = [f"cohort {queue.cohort}"] if queue.cohort else []
        parts += [f"stopPolicy {queue.stop_policy}"] if queue.stop_policy != "None" else []
        yield _build("ClusterQueue", queue.name, "; ".join(parts) or "no cohort", queue.place)
        yield from _iter_quotas("ClusterQueue", queue.name, queue.groups)
    for cohort in cluster.cohorts.values():
        text = f"parent {cohort.parent}" if cohort.parent else "no parent"
        yield _build("Cohort", cohort.name, text, cohort.place)
        yield from _iter_quotas("Cohort", cohort.name, cohort.groups)
    for local in cluster.local_queues.values():
        name = f"{local.namespace}/{local.name}" if local.namespace else local.name
        stop = f"; stopPolicy {local.stop_policy}" if local.stop_policy != "None" else ""
        yield _build("LocalQueue", name, f"ClusterQueue {local.cluster_queue}{stop}", local.place)
    for flavor in cluster.flavors.values():
        labels = ", ".join(f"{key}={value}" for key, value in flavor.node_labels.items())
        parts = [f"labels {labels}"] if labels else []
        parts += [f"{len(flavor.taints)} taints"] if flavor.taints else []
        parts += [f"topology {flavor.topology}"] if flavor.topology else []
        yield _build("ResourceFlavor", flavor.name, "; ".join(parts) or "any node", flavor.place)
    for node in cluster.nodes:
        amounts = ", ".join(
            f"{name} {format_amount(name, amount)}" for name, amount in sorted(node.allocatable.items())
        )
        yield _build("Node", node.name, amounts or "nothing allocatable", node.place)
    for kind, named in (
        ("WorkloadPriorityClass", cluster.workload_priorities),
        ("PriorityClass", cluster.priorities),
    ):
        for name, place in named.items():
            yield _build(kind, name, f"value {place.get('value').value}", place)
    for name, place in cluster.runtime_class_places.items():
        written = get_mapping(place.get("overhead").value, "podFixed")
        overhead = ", ".join(f"{resource} {amount}" for resource, amount in written.items())
        yield _build("RuntimeClass", name, f"overhead {overhead}" if overhead else "no overhead", place)
    for name, levels in cluster.topologies.items():
        yield _build("Topology", name, f"levels {', '.join(levels)}", cluster.topology_places[name])
    for name, is_active in cluster.admission_checks.items():
        text = "git does not say whether it is active"
        if is_active is not None:
            text = "active" if is_active else "inactive"
        yield _build("AdmissionCheck", name, text, cluster.check_places[name])
    for one in cluster.namespaces.values():
        labels = ", ".join(f"{key}={value}" for key, value in one.labels.items())
        text = f"labels {labels}" if labels else "no labels"
        yield _build("Namespace", one.name, text, one.place)
    for name, ranges in cluster.limit_ranges.items():
        for limits in ranges:
            yield _build("LimitRange", name, _describe_range(limits), limits.place)
    for name, quotas in cluster.namespace_quotas.items():
        for quota in quotas:
            for key in quota.hard:
                place = quota.place.get("spec", "hard", key)
                text = f"at most {place.value} {key}" + ("" if is_counted(key) else ", which counts nothing")
                yield _build("ResourceQuota", f"{name}/{quota.name}", text, place)
    if cluster.configuration.place is not None:
        text = _describe_configuration(cluster.configuration)
        yield _build("Configuration", "Kueue", text, cluster.configuration.place)
    for (kind, namespace, name), files in cluster.ambiguous.items():
        shown = f"{namespace}/{name}" if namespace else name
        yield Fact(kind, shown, f"is in {files}, so it is unclear which one counts", None)
    for kind, name, text, place in iter_object_facts(objects, explain_unapplied):
        yield _build(kind, name, text, place)


def _describe_configuration(configuration: KueueConfiguration) -> str:
    """Describe what the manager of Kueue is told."""
    if configuration.doubt:
        return configuration.doubt
    frameworks = configuration.frameworks
    parts = ["states no integrations"]
    if frameworks is not None:
        parts = [f"integrations {', '.join(sorted(frameworks))}" if frameworks else "no integrations"]
    if configuration.manages_unlabelled:
        parts.append("manages jobs without a queue")
    if configuration.namespace_selector is not None:
        parts.append("selects namespaces")
    return "; ".join(parts)


def _describe_range(range_: LimitRange) -> str:
    """Describe the limits of a LimitRange for containers or Pods, as written."""
    parts = []
    for field in ("max", "min", "default", "defaultRequest"):
        amounts = range_.place.get(field).value
        if isinstance(amounts, dict) and amounts:
            parts.append(f"{field} " + ", ".join(f"{name} {value}" for name, value in amounts.items()))
    return f"each {range_.type}: {'; '.join(parts) or 'no limits'}"


def _iter_quotas(kind: str, name: str, groups: Sequence[ResourceGroup]) -> Iterator[Fact]:
    for group in groups:
        for flavor in group.flavors:
            yield _build(kind, name, f"{flavor.name}: {_describe_quotas(flavor)}", flavor.place)


def _describe_quotas(flavor: FlavorQuotas) -> str:
    parts = []
    for name, quota in flavor.quotas.items():
        text = f"{name} {format_amount(name, quota.nominal)}"
        for word, limit in (("borrows", quota.borrowing_limit), ("lends", quota.lending_limit)):
            if limit is not None:
                text += f" {word} {format_amount(name, limit)}"
        parts.append(text)
    return ", ".join(parts)


def _build(kind: str, name: str, text: str, cursor: Cursor) -> Fact:
    found = find_source_location(cursor.doc, cursor.path)
    return Fact(kind, name, text, found.location if found is not None else None)
