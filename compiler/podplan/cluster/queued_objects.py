"""Objects that Kueue queues and that are no training jobs: Pods, groups of Pods, and controllers of Pods.

Source: docs/evidence/kueue.md#other-objects.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

from podplan.cluster import app_wrappers, spark_applications
from podplan.cluster.admission import QueuedJob, find_queue_label
from podplan.cluster.kinds import KUEUE_GROUP
from podplan.cluster.model import QUEUE_LABEL
from podplan.core.findings import Path
from podplan.core.provenance import Cursor, TracedDocument, attribute_to, build_traced_document, root_cursor
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup, build_group
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.batch.job import queueing
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
APP_WRAPPER = "workload.codeflare.dev/AppWrapper"
SPARK_APPLICATION = "sparkoperator.k8s.io/SparkApplication"
CRON_JOB = "batch/CronJob"
_SPARK = "sparkoperator.k8s.io"  # the other groups of this domain that Kueue knows have templates
_JOB_FRAMEWORK = "batch/job"
KUEUE_WORD = "kueue"
_NO_COUNT = "the number of replicas is not known"
# Kinds that Kueue queues, some of them without a label.
KINDS = (
    *("Pod", "Deployment", "StatefulSet", "LeaderWorkerSet", "RayService"),
    *("AppWrapper", "SparkApplication", "CronJob"),
)
_SHAPE = (
    *("nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority"),
    *("topologySpreadConstraints", "overhead", "resourceClaims", "resources"),
)


class QueuedObject(NamedTuple):
    """An object as Kueue sees it; ``name`` is its name, or that of a group of Pods.

    ``workload_count`` is the number of its equal Workloads, each of which is decided by itself. ``job`` is
    None, with the ``reason``, if it is not known how the object is queued. ``refusal`` is why Kueue makes no
    Workload, and ``is_refused`` if a webhook already refuses the object, at ``refused_place``.
    ``without_queue`` is why a job has no queue although the object names one.
    """

    document: TracedDocument
    name: str
    job: QueuedJob | None
    workload_count: int = 1
    reason: str = ""
    refusal: str = ""
    is_refused: bool = False
    refused_place: Cursor | None = None
    without_queue: str = ""


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
    """Return an object that mentions a queue itself, or is a CronJob that does, and that is a job of its own;
    None for any other, such as a Pod of a group, or a controller that labels its Pods."""
    identity = _identify(document.data)
    if not _mentions_kueue(document.data, is_cron_job=identity == CRON_JOB):
        return None
    if identity == "/Pod" and _find_group_name(root_cursor(document)):
        return None
    queued = _build_object(document)
    if queued is None or queued.job is None or queued.job.place.path:
        return None
    return queued


def lower_queued_pods(queued: QueuedObject) -> Iterator[ReplicaGroup]:
    """Yield the Pods of an object with their templates as written, where the Pods are these."""
    job = queued.job
    if job is None or job.framework == spark_applications.FRAMEWORK:
        return  # the Pods of Spark have more than Kueue counts
    for pod_set in job.pod_sets or ():
        count = pod_set.size * queued.workload_count
        template = root_cursor(pod_set.template.doc).get(*pod_set.template.path)
        if not count or not isinstance(template.get("spec").value, dict):
            continue
        metadata = {
            **{field: template.get("metadata", field) for field in ("labels", "annotations")},
            "name": attribute_to(job.place, queued.name),
            "namespace": job.place.get("metadata", "namespace"),
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec")}
        yield build_group(attribute_to(template, pod), pod_set.name, 0, count)


def is_labelled(data: Any) -> bool:
    """Whether a document, or a template in it, has the label with a queue."""
    return any(QUEUE_LABEL in get_mapping(one, "labels") for one in _iter_metadata(data))


def _mentions_kueue(data: Any, *, is_cron_job: bool) -> bool:
    """Whether an object has a label or an annotation of Kueue; that of a CronJob may be for its Jobs."""
    holders = _iter_metadata(data) if is_cron_job else (get_mapping(data, "metadata"),)
    return any(
        KUEUE_WORD in str(key)
        for holder in holders
        for field in ("labels", "annotations")
        for key in get_mapping(holder, field)
    )


def _iter_metadata(data: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the metadata of an object and of the templates in it."""
    spec = get_mapping(data, "spec")
    job_template = get_mapping(spec, "jobTemplate")
    templates = spec, get_mapping(job_template, "spec")
    holders = (data, job_template, *(get_mapping(one, "template") for one in templates))
    yield from (get_mapping(one, "metadata") for one in holders)


def _identify(data: Any) -> str:
    """Return group and kind of an object, as one text."""
    return f"{get_text(data, 'apiVersion').rpartition('/')[0]}/{get_text(data, 'kind')}"


def _build_object(document: TracedDocument) -> QueuedObject | None:
    place = root_cursor(document)
    build = _BUILDERS.get(_identify(document.data))
    if build is not None:
        return build(place)
    if not is_labelled(document.data) or not _may_have_pods(document.data):
        return None
    kind = get_text(document.data, "kind")
    return _leave_open(place, f"podplan does not know how {kind} is queued")


def _build_pod(place: Cursor) -> QueuedObject:
    return _queue(place, _build_job(place, "pod", [PodSet(MAIN, 1, place, place)]))


def _build_ray_service(place: Cursor) -> QueuedObject:
    cluster = place.get("spec", "rayClusterConfig")
    job = _build_job(
        place,
        "ray.io/rayservice",
        list_cluster_pod_sets(place, cluster),
        lambda job: iter_cluster_refusals(job, cluster),
    )
    return _queue(place, job)


def _build_leader_worker_set(place: Cursor) -> QueuedObject:
    spec = place.get("spec")
    template = spec.get("leaderWorkerTemplate")
    if not _are_counts(spec.get("replicas"), template.get("size")):
        return _leave_open(place, _NO_COUNT)
    job = _build_job(place, "leaderworkerset.x-k8s.io/leaderworkerset", _list_sets_of_leader(template))
    return _queue(place, job, int(spec.get("replicas").value_or(1)))


def _build_controller(place: Cursor) -> QueuedObject:
    """Return a Deployment or a StatefulSet."""
    count, template = place.get("spec", "replicas"), place.get("spec", "template")
    if not _are_counts(count):
        return _leave_open(place, _NO_COUNT)
    replicas = int(count.value_or(1))
    own_labels, labels = (
        get_mapping(get_mapping(one.value, "metadata"), "labels") for one in (place, template)
    )
    if QUEUE_LABEL in labels and QUEUE_LABEL not in own_labels:
        # Each Pod comes with the label, so that Kueue queues it like one that no controller creates.
        namespace = {"namespace": place.get("metadata", "namespace").value}
        fields = {**template.value, "metadata": {**namespace, **template.value["metadata"]}}
        pod = Cursor(place.doc, template.path, fields)
        return _queue(place, _build_job(pod, "pod", [PodSet(MAIN, 1, pod, pod)]), replicas)
    if place.get("kind").value == "StatefulSet":
        pod_sets = [PodSet(MAIN, replicas, template, count)] if replicas else []
        return _queue(place, _build_job(place, "statefulset", pod_sets), min(replicas, 1))
    return _queue(place, _build_job(place, "deployment", [PodSet(MAIN, 1, template, count)]), replicas)


def _build_app_wrapper(place: Cursor) -> QueuedObject:
    components = place.get("spec", "components").entries()
    if not is_labelled(place.value) and any(is_labelled(one.get("template").value) for one in components):
        return _leave_open(place, "podplan does not know how components are queued by themselves")
    wrapped = app_wrappers.find_wrapped_pods(place)
    if wrapped.unknown:
        return _leave_open(place, wrapped.unknown)
    job = _build_job(place, app_wrappers.FRAMEWORK, wrapped.pod_sets, app_wrappers.iter_refusals)
    queued = _queue(place, job)._replace(refusal=wrapped.no_workload)
    if wrapped.refused is None:
        return queued
    path, reason = wrapped.refused
    message = f"{reason}; the AppWrapper controller refuses it"
    return queued._replace(refusal=message, is_refused=True, refused_place=_at(place, path))


def _build_spark_application(place: Cursor) -> QueuedObject:
    if not is_labelled(place.value) and spark_applications.labels_its_pods(place, QUEUE_LABEL):
        return _leave_open(place, "podplan does not know what Spark requests for Pods in a queue")
    if not _are_counts(place.get("spec", "executor", "instances")):
        return _leave_open(place, _NO_COUNT)
    pod_sets = spark_applications.list_pod_sets(place)
    return _queue(
        place,
        _build_job(place, spark_applications.FRAMEWORK, pod_sets, spark_applications.iter_refusals),
    )


def _build_cron_job(place: Cursor) -> QueuedObject | None:
    """Return the Job that a CronJob creates, with the labels of ``jobTemplate``."""
    template = place.get("spec", "jobTemplate")
    if not isinstance(template.get("spec").value, dict):
        return None
    if not _are_counts(*(template.get("spec", field) for field in ("parallelism", "completions"))):
        return _leave_open(place, _NO_COUNT)
    metadata, own = template.get("metadata"), place.get("metadata")
    tree = {
        "apiVersion": place.get("apiVersion"),
        "kind": attribute_to(template, "Job"),
        "metadata": attribute_to(
            metadata if metadata.exists else template,
            {**metadata.fields(), "name": own.get("name"), "namespace": own.get("namespace")},
        ),
        "spec": template.get("spec"),
    }
    cr = root_cursor(build_traced_document(attribute_to(place, tree), place.doc.name))
    pod_sets = queueing.list_pod_sets(cr, {}, LoweringOptions())
    job = QueuedJob(cr, _JOB_FRAMEWORK, queueing.INTEGRATION, pod_sets, cr.get(""))
    reason = ""
    if own.get("labels", QUEUE_LABEL).exists and not find_queue_label(job).exists:
        reason = (
            f"no Job has the label of its CronJob: write {QUEUE_LABEL} into spec.jobTemplate.metadata.labels"
        )
    return _queue(place, job)._replace(without_queue=reason)


_BUILDERS: dict[str, Callable[[Cursor], QueuedObject | None]] = {
    "/Pod": _build_pod,
    DEPLOYMENT: _build_controller,
    STATEFUL_SET: _build_controller,
    LEADER_WORKER_SET: _build_leader_worker_set,
    RAY_SERVICE: _build_ray_service,
    APP_WRAPPER: _build_app_wrapper,
    SPARK_APPLICATION: _build_spark_application,
    CRON_JOB: _build_cron_job,
}


def _queue(place: Cursor, job: QueuedJob, workload_count: int = 1) -> QueuedObject:
    name = get_text(get_mapping(place.value, "metadata"), "name")
    return QueuedObject(place.doc, name, job, workload_count)


def _leave_open(place: Cursor, reason: str) -> QueuedObject:
    name = get_text(get_mapping(place.value, "metadata"), "name")
    return QueuedObject(place.doc, name, None, reason=reason)


def _at(place: Cursor, path: Path) -> Cursor:
    return place.get(*path[len(place.path) :])


def _may_have_pods(data: Any) -> bool:
    """Whether an object is of a CRD, or has a template; others, such as a Service, have labels in common
    with those that have Pods."""
    group, spec = get_text(data, "apiVersion").rpartition("/")[0], get_mapping(data, "spec")
    is_custom = "." in group and (not group.endswith(".k8s.io") or group == _SPARK)
    return is_custom or any("emplate" in str(field) for field in spec)


def _list_sets_of_leader(template: Cursor) -> list[PodSet]:
    """The pod sets of one replica of a LeaderWorkerSet."""
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


def _build_job(
    place: Cursor,
    framework: str,
    pod_sets: list[PodSet],
    validate: Callable[[Cursor], Iterator[tuple[Path, str]]] | None = None,
) -> QueuedJob:
    integration = QueueIntegration(
        lambda _job, _references, _options: pod_sets,
        validate=validate,
        framework=framework,
        queues_pods=True,
    )
    return QueuedJob(place, framework, integration, pod_sets, place.get(""))


def _are_counts(*places: Cursor) -> bool:
    """Whether what is written is numbers of Pods."""
    values = [one.value for one in places if one.exists]
    return all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in values)
