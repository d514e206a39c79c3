"""What is known about the namespace of a job: by the ClusterInventory, else by its Namespace in git."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.target import LoweredJob

POD_SECURITY_LABEL = "pod-security.kubernetes.io/enforce"


class NamespaceFact(NamedTuple):
    """Something about a namespace, and where it is written."""

    value: Any
    doc: TracedDocument
    path: Path


def find_pod_security(job: LoweredJob) -> NamespaceFact | None:
    """Return the level of Pod Security that the namespace of a job enforces."""
    stated = _find_in_inventory(job, "podSecurity")
    labels = find_labels(job) if stated is None else None
    if labels is None or POD_SECURITY_LABEL not in labels.value:
        return stated
    return NamespaceFact(labels.value[POD_SECURITY_LABEL], labels.doc, (*labels.path, POD_SECURITY_LABEL))


def find_labels(job: LoweredJob) -> NamespaceFact | None:
    """Return the labels of the namespace of a job."""
    stated, cluster = _find_in_inventory(job, "labels"), job.cluster
    name = _name_namespace(job)
    if stated is not None or cluster is None or ("Namespace", "", name) in cluster.ambiguous:
        return stated
    namespace = cluster.namespaces.get(name)
    if namespace is None:
        return None
    return NamespaceFact(namespace.labels, namespace.place.doc, ("metadata", "labels"))


def _find_in_inventory(job: LoweredJob, field: str) -> NamespaceFact | None:
    if job.inventory is None:
        return None
    name = _name_namespace(job)
    namespaces: Mapping[str, Any] = get_mapping(job.inventory.data.get("spec"), "namespaces")
    value = get_mapping(namespaces, name).get(field)
    if not value:
        return None
    return NamespaceFact(value, job.inventory, ("spec", "namespaces", name, field))


def _name_namespace(job: LoweredJob) -> str:
    return get_text(get_mapping(job.cr.data, "metadata"), "namespace") if job.cr is not None else ""
