"""Objects that Kueue queues and that are not training jobs: Pods, groups of Pods, and controllers of Pods.

Source: docs/evidence/kueue.md#other-objects.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from podplan.cluster.admission import QueuedJob
from podplan.cluster.kinds import KUEUE_GROUP
from podplan.cluster.model import QUEUE_LABEL
from podplan.core.provenance import Cursor, TracedDocument, root_cursor
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.spec import PodSet, QueueIntegration
from podplan.kinds.workload_mapping.ray import iter_cluster_refusals, list_cluster_pod_sets
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text

MAIN = "main"
GROUP_NAME = f"{KUEUE_GROUP}/pod-group-name"
TOTAL_COUNT = f"{KUEUE_GROUP}/pod-group-total-count"
FAST_ADMISSION = f"{KUEUE_GROUP}/pod-group-fast-admission"
DEPLOYMENT, STATEFUL_SET = "apps/Deployment", "apps/StatefulSet"
LEADER_WORKER_SET = "leaderworkerset.x-k8s.io/LeaderWorkerSet"
RAY_SERVICE = "ray.io/RayService"
_SPARK = "sparkoperator.k8s.io"  # the other groups of this domain that Kueue knows have templates
# Kinds that Kueue queues, some of them without a label.
KINDS = ("Pod", "Deployment", "StatefulSet", "LeaderWorkerSet", "RayService")
_SHAPE = (
    *("nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority"),
    *("topologySpreadConstraints", "overhead", "resourceClaims", "resources"),
)


class QueuedObject(NamedTuple):
    """An object as Kueue sees it; ``name`` is its name, or that of a group of Pods.

    ``workload_count`` is the number of its equal Workloads, each of which is decided by itself. ``job`` is
    None, with the ``reason``, if it is not known how the object is queued. ``refusal`` is why Kueue makes no
    Workload, and ``is_refused`` if the webhook already refuses the object.
    """

    document: TracedDocument
    name: str
    job: QueuedJob | None
    workload_count: int = 1
    reason: str = ""
    refusal: str = ""
    is_refused: bool = False


def iter_queued_objects(documents: Iterable[TracedDocument]) -> Iterator[QueuedObject]:
    """Yield the objects that Kueue may queue, in the order of the documents; a group of Pods once."""
    groups: dict[tuple[str, str], list[Cursor]] = {}
    found: list[TracedDocument | list[Cursor]] = []
    for document in documents:
        if not isinstance(document.data, dict):
            continue
        pod = root_cursor(document)
        group = _find_group_name(pod) if _identify(document.data) == "/Pod" else ""
        if not group:
            found.append(document)
            continue
        members = groups.setdefault((str(pod.get("metadata", "namespace").value_or("")), group), [])
        if not members:
            found.append(members)
        members.append(pod)
    for one in found:
        queued = _build_object(one) if isinstance(one, TracedDocument) else _build_group(one)
        if queued is not None:
            yield queued


def find_queued_object(document: TracedDocument) -> QueuedObject | None:
    """Return an object that has the label of a queue itself and is a job of its own; None for any other, such
    as a Pod of a group."""
    if QUEUE_LABEL not in get_mapping(get_mapping(document.data, "metadata"), "labels"):
        return None
    if _identify(document.data) == "/Pod" and _find_group_name(root_cursor(document)):
        return None
    return _build_object(document)


def is_labelled(data: Any) -> bool:
    """Whether a document, or a template in it, has the label with a queue."""
    spec = get_mapping(data, "spec")
    holders = (data, get_mapping(spec, "template"), get_mapping(spec, "jobTemplate"))
    return any(QUEUE_LABEL in get_mapping(get_mapping(one, "metadata"), "labels") for one in holders)


def _identify(data: Any) -> str:
    """Return group and kind of an object, as one text."""
    return f"{get_text(data, 'apiVersion').rpartition('/')[0]}/{get_text(data, 'kind')}"


def _build_object(document: TracedDocument) -> QueuedObject | None:
    place, identity = root_cursor(document), _identify(document.data)
    name, kind = get_text(get_mapping(document.data, "metadata"), "name"), get_text(document.data, "kind")
    spec = place.get("spec")
    if identity == "/Pod":
        return QueuedObject(document, name, _build_job(place, "pod", [PodSet(MAIN, 1, place, place)]))
    if identity == RAY_SERVICE:
        cluster = spec.get("rayClusterConfig")
        pod_sets = list_cluster_pod_sets(place, cluster)
        job = _build_job(place, "ray.io/rayservice", pod_sets)
        integration = job.integration._replace(validate=lambda job: iter_cluster_refusals(job, cluster))
        return QueuedObject(document, name, job._replace(integration=integration))
    if identity not in (DEPLOYMENT, STATEFUL_SET, LEADER_WORKER_SET):
        if not is_labelled(document.data) or not _may_have_pods(document.data):
            return None
        return QueuedObject(document, name, None, reason=f"podplan does not know how {kind} is queued")
    counts = [spec.get("replicas")]
    if identity == LEADER_WORKER_SET:
        counts.append(spec.get("leaderWorkerTemplate", "size"))
    if not all(one.value is None or _is_count(one.value) for one in counts):
        return QueuedObject(document, name, None, reason="the number of replicas is not known")
    replicas = int(counts[0].value_or(1))
    if identity == LEADER_WORKER_SET:
        pod_sets = _list_sets_of_leader(spec.get("leaderWorkerTemplate"))
        job = _build_job(place, "leaderworkerset.x-k8s.io/leaderworkerset", pod_sets)
        return QueuedObject(document, name, job, replicas)
    template = spec.get("template")
    own_labels, labels = (
        get_mapping(get_mapping(one.value, "metadata"), "labels") for one in (place, template)
    )
    if QUEUE_LABEL in labels and QUEUE_LABEL not in own_labels:
        # Each Pod gets the label, so Kueue queues it like a Pod without a controller.
        namespace = {"namespace": place.get("metadata", "namespace").value}
        fields = {**template.value, "metadata": {**namespace, **template.value["metadata"]}}
        pod = Cursor(place.doc, template.path, fields)
        return QueuedObject(document, name, _build_job(pod, "pod", [PodSet(MAIN, 1, pod, pod)]), replicas)
    if identity == STATEFUL_SET:
        pod_sets = [PodSet(MAIN, replicas, template, counts[0])] if replicas else []
        return QueuedObject(document, name, _build_job(place, "statefulset", pod_sets), min(replicas, 1))
    pod_sets = [PodSet(MAIN, 1, template, counts[0])]
    return QueuedObject(document, name, _build_job(place, "deployment", pod_sets), replicas)


def _may_have_pods(data: Any) -> bool:
    """Whether an object is of a CRD, or has a template; others, such as a Service, have labels in common
    with those that have Pods."""
    group, spec = get_text(data, "apiVersion").rpartition("/")[0], get_mapping(data, "spec")
    is_custom = "." in group and (not group.endswith(".k8s.io") or group == _SPARK)
    return is_custom or any("emplate" in str(field) for field in spec)


def _list_sets_of_leader(template: Cursor) -> list[PodSet]:
    """Return the pod sets of one replica of a LeaderWorkerSet."""
    leader, worker, size = (template.get(one) for one in ("leaderTemplate", "workerTemplate", "size"))
    count = int(size.value_or(1))
    if not leader.exists:
        return [PodSet(MAIN, count, worker, size)]
    return [PodSet("leader", 1, leader, leader), PodSet("worker", max(count - 1, 0), worker, size)]


def _build_group(pods: list[Cursor]) -> QueuedObject:
    """Return a group of Pods, which is one Workload with a pod set for each role."""
    first, name = pods[0], _find_group_name(pods[0])
    annotations = [one.get("metadata", "annotations") for one in pods]
    written = [one.get(TOTAL_COUNT).value for one in annotations]
    totals = [int(one) if str(one).isdigit() else 0 for one in written]
    queues = {one.get("metadata", "labels", QUEUE_LABEL).value for one in pods}
    is_fast = annotations[0].get(FAST_ADMISSION).value == "true"
    refusal, is_refused = "", any(total < 1 for total in totals)
    if None in written:
        refusal = f"both the '{TOTAL_COUNT}' annotation and the '{GROUP_NAME}' label should be set"
    elif is_refused:
        refusal = f"{TOTAL_COUNT}: Invalid value: must be a number above 0"
    elif len(pods) < totals[0] and not is_fast:
        refusal = f"'{name}' group has fewer runnable pods than expected"
    elif len(queues) > 1:
        refusal = f"the Pods of the group '{name}' have different queue names"
    elif len(set(totals)) > 1:
        refusal = f"the Pods of the group '{name}' have different values of {TOTAL_COUNT}"
    roles: dict[str, list[Cursor]] = {}
    for pod in pods:
        roles.setdefault(_describe_role(pod.get("spec").value), []).append(pod)
    pod_sets = [
        PodSet(str(of_role[0].get("metadata", "name").value), len(of_role), of_role[0], of_role[0])
        for of_role in roles.values()
    ]
    if is_fast and totals[0]:
        pod_sets = [pod_sets[0]._replace(size=totals[0])]
    job = _build_job(first, "pod", pod_sets)
    return QueuedObject(first.doc, name, job, refusal=refusal, is_refused=is_refused)


def _describe_role(spec: Any) -> str:
    """Return what the Pods of one role have in common."""
    shape: dict[str, Any] = {field: spec.get(field) for field in _SHAPE} if isinstance(spec, dict) else {}
    for field in ("initContainers", "containers"):
        shape[field] = [
            (get_mapping(one, "resources"), one.get("ports")) for _, one in get_entries(spec, field)
        ]
    return json.dumps(shape, sort_keys=True, default=str)


def _find_group_name(pod: Cursor) -> str:
    metadata = pod.get("metadata")
    named = (metadata.get(field, GROUP_NAME).value for field in ("annotations", "labels"))
    return next((str(one) for one in named if one), "")


def _build_job(place: Cursor, framework: str, pod_sets: list[PodSet]) -> QueuedJob:
    integration = QueueIntegration(lambda _job, _references, _options: pod_sets, framework=framework)
    return QueuedJob(place, framework, integration, pod_sets, place.get(""))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
