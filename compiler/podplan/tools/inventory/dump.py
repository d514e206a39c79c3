"""A ClusterInventory from the output of ``kubectl get … -o yaml``. Values of Secrets are never read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from podplan.cluster.amounts import parse_quantities
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts

KUBECTL_COMMAND = "kubectl get nodes,namespaces,pvc,secrets,configmaps -A -o yaml"
_POD_SECURITY = "pod-security.kubernetes.io/enforce"
_SYSTEM_PREFIX = "kube-"
_INSTANCE_TYPE = "node.kubernetes.io/instance-type"
# Labels that are unique to each node, or irrelevant for scheduling.
_NODE_LABELS = (
    "kubernetes.io/hostname",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "beta.kubernetes.io/",
    "node-role.kubernetes.io/",
    "topology.",
    "failure-domain.",
)
_TOKEN_TYPE = "kubernetes.io/service-account-token"
_CA_BUNDLE = "kube-root-ca.crt"


def build_inventory(objects: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Build a ClusterInventory from the objects of a cluster; other objects are skipped."""
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for one in objects:
        by_kind.setdefault(get_text(one, "kind"), []).append(one)
    spec: dict[str, Any] = {}
    versions = sorted(filter(None, (_find_version(node) for node in by_kind.get("Node", ()))))
    if versions:
        major, minor = versions[0]
        spec["kubernetes"] = f"{major}.{minor}"
    sections = {
        "queues": _build_queues(by_kind.get("Queue", ())),
        "nodes": _build_nodes(node for node in by_kind.get("Node", ()) if is_usable(node)),
        "pvcs": _build_claims(by_kind.get("PersistentVolumeClaim", ())),
        "secrets": _build_keyed(by_kind.get("Secret", ()), ("data", "stringData")),
        "configMaps": _build_keyed(by_kind.get("ConfigMap", ()), ("data", "binaryData")),
        "namespaces": _build_namespaces(by_kind.get("Namespace", ())),
    }
    spec.update((name, section) for name, section in sections.items() if section)
    return {
        "apiVersion": "podplan/v1",
        "kind": "ClusterInventory",
        "metadata": {"name": "cluster"},
        "spec": spec,
    }


def is_usable(node: Mapping[str, Any]) -> bool:
    """Whether the scheduler can place Pods on a node: it is neither cordoned nor known as not ready."""
    conditions = (one for _, one in get_entries(get_mapping(node, "status"), "conditions"))
    ready = [one.get("status") for one in conditions if one.get("type") == "Ready"]
    return get_mapping(node, "spec").get("unschedulable") is not True and ready in ([], ["True"])


def _find_version(node: Mapping[str, Any]) -> tuple[int, int] | None:
    text = get_text(get_mapping(get_mapping(node, "status"), "nodeInfo"), "kubeletVersion")
    parts = text.lstrip("v").split(".")
    if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
        return None
    return int(parts[0]), int(parts[1])


def _build_queues(queues: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Build the queues of Volcano, with their capability as quota."""
    found = {}
    for queue in queues:
        capability = get_mapping(get_mapping(queue, "spec"), "capability")
        if get_text(queue, "apiVersion").startswith("scheduling.volcano.sh/") and capability:
            found[_name_of(queue)] = {"quota": {name: str(value) for name, value in capability.items()}}
    return found


def _build_nodes(nodes: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Group nodes with the same labels, taints and devices; each resource is the minimum of the group."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for node in nodes:
        spec = get_mapping(node, "spec")
        taints = tuple(
            tuple(
                sorted((key, str(value)) for key, value in taint.items() if key in ("key", "value", "effect"))
            )
            for _, taint in get_entries(spec, "taints")
        )
        allocatable = get_mapping(get_mapping(node, "status"), "allocatable")
        devices = tuple(sorted((name, str(value)) for name, value in allocatable.items() if "/" in name))
        groups.setdefault((tuple(sorted(_select_labels(node).items())), taints, devices), []).append(node)
    found: dict[str, Any] = {}
    for (labels, taints, _), members in groups.items():
        name = str(dict(labels).get(_INSTANCE_TYPE) or "nodes")
        while name in found:
            name = f"{name}-{len(found) + 1}"
        amounts = [get_mapping(get_mapping(one, "status"), "allocatable") for one in members]
        group: dict[str, Any] = {"count": len(members), "allocatable": _find_least(amounts)}
        if labels:
            group["labels"] = dict(labels)
        if taints:
            group["taints"] = [dict(taint) for taint in taints]
        found[name] = group
    return found


def _select_labels(node: Mapping[str, Any]) -> dict[str, str]:
    labels = get_mapping(get_mapping(node, "metadata"), "labels")
    return {key: str(value) for key, value in labels.items() if not key.startswith(_NODE_LABELS)}


def _find_least(amounts: list[dict[str, Any]]) -> dict[str, str]:
    least: dict[str, str] = {}
    for name in amounts[0]:
        values = [one.get(name) for one in amounts]
        parsed = {value: parse_quantities({name: value}).get(name) for value in values if value is not None}
        known = {value: units for value, units in parsed.items() if units is not None}
        if known and len(values) == sum(value is not None for value in values):
            least[name] = str(min(known, key=lambda value: known[value]))
    return least


def _build_claims(claims: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for claim in claims:
        spec = get_mapping(claim, "spec")
        entry = found.setdefault(_name_of(claim), {})
        modes = [mode for _, mode in get_texts(spec, "accessModes")]
        storage = get_mapping(get_mapping(spec, "resources"), "requests").get("storage")
        if modes:
            entry.setdefault("accessModes", modes)
        if storage is not None:
            entry.setdefault("storage", str(storage))
        _add_namespace(entry, claim)
    return found


def _build_keyed(objects: Iterable[Mapping[str, Any]], fields: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in objects:
        if one.get("type") == _TOKEN_TYPE or _name_of(one) == _CA_BUNDLE or _is_of_system(one):
            continue
        entry = found.setdefault(_name_of(one), {})
        keys = [str(key) for field in fields for key in get_mapping(one, field)]
        if keys:
            entry["keys"] = sorted({*entry.get("keys", ()), *keys})
        _add_namespace(entry, one)
    return found


def _build_namespaces(namespaces: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for namespace in namespaces:
        name = _name_of(namespace)
        if name.startswith(_SYSTEM_PREFIX):
            continue
        labels = get_mapping(get_mapping(namespace, "metadata"), "labels")
        entry: dict[str, Any] = {}
        if _POD_SECURITY in labels:
            entry["podSecurity"] = str(labels[_POD_SECURITY])
        if labels:
            entry["labels"] = {key: str(value) for key, value in labels.items()}
        found[name] = entry
    return found


def _is_of_system(one: Mapping[str, Any]) -> bool:
    return get_text(get_mapping(one, "metadata"), "namespace").startswith(_SYSTEM_PREFIX)


def _add_namespace(entry: dict[str, Any], one: Mapping[str, Any]) -> None:
    namespace = get_text(get_mapping(one, "metadata"), "namespace")
    if namespace:
        entry["namespaces"] = sorted({*entry.get("namespaces", ()), namespace})


def _name_of(one: Mapping[str, Any]) -> str:
    return get_text(get_mapping(one, "metadata"), "name")
