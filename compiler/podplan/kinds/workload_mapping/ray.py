"""Clusters of Ray as Kueue queues them, and what the KubeRay operator refuses in them.

Source: docs/evidence/kueue.md#ray, docs/workload-mapping.md#bundled-mappings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Diagnostic, Path
from podplan.core.provenance import Cursor
from podplan.core.typing import Any
from podplan.kinds.spec import PodSet
from podplan.kubernetes.accessors import get_entries, get_mapping, get_number, get_text
from podplan.kubernetes.names import matches_form
from podplan.kubernetes.quantities import parse_quantity

OPERATOR = "the KubeRay operator refuses it"
TRAITS = frozenset(
    ("kueue", "ray-cluster", "shm-by-controller", "own-name-rules", "command-in-shell", "servers")
)
HEAD = "head"
MAX_POD_SETS = 18
_ELASTIC_ANNOTATION = "kueue.x-k8s.io/elastic-job"
_FAULT_TOLERANCE_ANNOTATION = "ray.io/ft-enabled"
_AUTOSCALER = {"cpu": "500m", "memory": "512Mi"}
_REDIS_CLEAN_UP = {"cpu": "200m", "memory": "256Mi"}


def list_cluster_volumes(cluster: Mapping[str, Any]) -> frozenset[str]:
    """The volumes that the operator adds to the Pods of a cluster."""
    names = {"shared-mem"}
    if cluster.get("enableInTreeAutoscaling") is True:
        names.add("ray-logs")
    if get_mapping(cluster, "authOptions").get("enableK8sTokenAuth") is True:
        names.add("ray-token")
    return frozenset(names)


def list_cluster_pod_sets(job: Cursor, cluster: Cursor) -> list[PodSet]:
    """The pod sets of a cluster: the head, and one for each group of workers."""
    head = cluster.get("headGroupSpec", "template")
    if get_mapping(cluster.value, "gcsFaultToleranceOptions") or _is_fault_tolerant(job):
        head = _request_at_least(head, _REDIS_CLEAN_UP)
    if cluster.get("enableInTreeAutoscaling").value is True:
        written = cluster.get("autoscalerOptions", "resources")
        resources = written.value if written.exists else {"requests": _AUTOSCALER, "limits": _AUTOSCALER}
        head = add_container(head, {"name": "autoscaler", "resources": resources})
    workers = [
        PodSet(
            str(group.get("groupName").value_or("")).lower(),
            get_number(group.value, "replicas") * max(get_number(group.value, "numOfHosts"), 1),
            group.get("template"),
            group.get("replicas"),
        )
        for group in cluster.get("workerGroupSpecs").entries()
    ]
    return [PodSet(HEAD, 1, head, cluster.get("headGroupSpec")), *workers]


def add_container(template: Cursor, container: Mapping[str, Any]) -> Cursor:
    """Return a Pod template with a container that KubeRay adds."""
    spec = get_mapping(template.value, "spec")
    containers = [one for _, one in get_entries(spec, "containers")]
    value = {**template.fields(), "spec": {**spec, "containers": [*containers, container]}}
    return Cursor(template.doc, template.path, value)


def iter_cluster_refusals(job: Cursor, cluster: Cursor) -> Iterator[tuple[Path, str]]:
    """Yield what the webhook of Kueue refuses in a cluster."""
    autoscaling = cluster.get("enableInTreeAutoscaling")
    elastic = job.get("metadata", "annotations", _ELASTIC_ANNOTATION).value
    if autoscaling.value is True and elastic != "true":
        message = "a kueue managed job should only use autoscaling when workload slicing is enabled"
        yield autoscaling.path, f"Invalid value: true: {message}"
    groups = cluster.get("workerGroupSpecs")
    entries = list(groups.entries())
    if len(entries) + 1 > MAX_POD_SETS:
        yield groups.path, f"Too many: {len(entries) + 1}: must have at most {MAX_POD_SETS} items"
    for group in entries:
        if group.get("groupName").value == HEAD:
            yield group.get("groupName").path, f'Forbidden: "{HEAD}" is reserved for the head group'


def iter_name_problems(cr: Mapping[str, Any], max_length: int) -> Iterator[Diagnostic]:
    """Yield what the operator refuses in the name of a CR, from which those of Services are made."""
    name = get_text(get_mapping(cr, "metadata"), "name")
    if len(name) > max_length:
        message = f"the name has {len(name)} characters, and at most {max_length} leave room for suffixes"
        yield Diagnostic("SCHEMA006", f"{message}; {OPERATOR}", ("metadata", "name"))
    elif name and not matches_form("dns-1035-label", name):
        message = f'"{name}" must begin with a letter, and have only lower-case letters, digits and "-"'
        yield Diagnostic("SCHEMA006", f"{message}; {OPERATOR}", ("metadata", "name"))


def _request_at_least(template: Cursor, amounts: Mapping[str, str]) -> Cursor:
    """Return a Pod template whose first container requests at least these amounts."""
    spec = get_mapping(template.value, "spec")
    containers = spec.get("containers")
    if not isinstance(containers, list) or not containers or not isinstance(containers[0], dict):
        return template
    resources = get_mapping(containers[0], "resources")
    requests = dict(get_mapping(resources, "requests"))
    for name, amount in amounts.items():
        if (parse_quantity(requests.get(name, "0")) or 0) < (parse_quantity(amount) or 0):
            requests[name] = amount
    first = {**containers[0], "resources": {**resources, "requests": requests}}
    value = {**template.value, "spec": {**spec, "containers": [first, *containers[1:]]}}
    return Cursor(template.doc, template.path, value)


def _is_fault_tolerant(job: Cursor) -> bool:
    return str(job.get("metadata", "annotations", _FAULT_TOLERANCE_ANNOTATION).value).lower() == "true"
