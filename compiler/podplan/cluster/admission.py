"""What Kueue does with a job: the verdict, in the order in which Kueue decides.

The cluster is otherwise empty: a verdict is about the job alone. What git does not say is unknown, and never
a reason to refuse. Source: docs/evidence/kueue.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podplan.cluster.amounts import format_amounts
from podplan.cluster.assignment import PodSetDemand, assign_flavors
from podplan.cluster.cohorts import QuotaTree
from podplan.cluster.job_refusals import iter_label_refusals, iter_template_refusals
from podplan.cluster.kinds import KUEUE_GROUP
from podplan.cluster.model import (
    DEFAULT_QUEUE,
    QUEUE_LABEL,
    Cluster,
    ClusterQueue,
    KueueConfiguration,
    LocalQueue,
)
from podplan.cluster.requests import compute_pod_resources, count_requests, explain_refusal
from podplan.cluster.topology import read_topology_request
from podplan.core.provenance import Cursor
from podplan.core.typing import TYPE_CHECKING, Any, Literal, NamedTuple
from podplan.kinds.spec import KindSpec, PodSet, QueueIntegration, References
from podplan.kubernetes.accessors import get_mapping
from podplan.kubernetes.label_selectors import NAMESPACE_NAME_LABEL, matches_selector

if TYPE_CHECKING:
    from podplan.core.replica_groups import LoweringOptions

    VerdictName = Literal["admitted", "pending", "inadmissible", "rejected", "ignored", "unknown"]
    Cause = Literal[
        "",
        "kind-off",
        "namespace-off",
        "no-queue",
        "no-local-queue",
        "stopped",
        "missing",
        "inactive",
        "selector",
        "priority",
        "limits",
        "uncovered",
        "level",
        "quota",
        "placement",
    ]

PRIORITY_LABEL = f"{KUEUE_GROUP}/priority-class"
PREBUILT_LABEL = f"{KUEUE_GROUP}/prebuilt-workload-name"
MAX_POD_SETS = 18
# Namespaces of the system, which Kueue leaves alone, and classes that every cluster has.
_SYSTEM_NAMESPACES = ("kube-system", "kueue-system")
_SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")
# Frameworks of which an installation as it ships has not even the feature.
_ALPHA_FRAMEWORKS = ("sparkoperator.k8s.io/sparkapplication",)


class QueuedJob(NamedTuple):
    """A job as Kueue sees it; ``framework`` is the name of its kind in the configuration of Kueue.

    ``priority_class`` is the place of a PriorityClass in the job itself. ``pod_sets`` is None if they are
    not known.
    """

    place: Cursor
    framework: str
    integration: QueueIntegration
    pod_sets: Sequence[PodSet] | None
    priority_class: Cursor


class PlannedPodSet(NamedTuple):
    """A pod set with its requests and, once it is admitted, its flavors; ``admitted_size`` of its Pods."""

    name: str
    size: int
    requests: Mapping[str, str]
    flavors: Mapping[str, str]
    admitted_size: int


class Verdict(NamedTuple):
    """What happens to a job, in the words of Kueue where it has some.

    ``place`` is the field that decides, in the job or in an object of the cluster. ``usage`` is what it takes
    of ``cluster_queue``, by flavor and resource. ``cause`` is the reason of a verdict that objects in git
    prove, "" for any other; ``pod_set`` is the one that it is about, and ``missing_kind`` the kind of an
    object that is not in git.
    """

    name: VerdictName
    message: str | None = None
    queue: str | None = None
    cluster_queue: str | None = None
    pod_sets: tuple[PlannedPodSet, ...] = ()
    place: Cursor | None = None
    usage: Mapping[tuple[str, str], int] = {}
    cause: Cause = ""
    pod_set: str = ""
    missing_kind: str = ""


def build_queued_job(
    cr: Cursor, spec: KindSpec, references: References, options: LoweringOptions
) -> QueuedJob | None:
    """Return the job of a CR as Kueue sees it; None if Kueue does not know its kind."""
    if spec.load_queue_integration is None:
        return None
    integration = spec.load_queue_integration()
    needed = {one.path for one in spec.list_references(cr.value)}
    pod_sets = None
    if needed <= references.keys():
        pod_sets = integration.list_pod_sets(cr, references, options)
    priority = cr.get(*spec.priority_path) if spec.priority_path else cr.get("")
    return QueuedJob(cr, name_framework(cr, integration), integration, pod_sets, priority)


def name_framework(cr: Cursor, integration: QueueIntegration) -> str:
    """Return the name of a kind in the configuration of Kueue."""
    group = str(cr.get("apiVersion").value).rpartition("/")[0]
    return integration.framework or f"{group}/{str(cr.get('kind').value).lower()}"


def explain_framework_off(framework: str, configuration: KueueConfiguration) -> str:
    """Return why Kueue ignores jobs of a framework, "" if it does not."""
    if configuration.frameworks is not None:
        is_on = framework in configuration.frameworks
        return "" if is_on else f"integrations.frameworks does not have {framework}, so Kueue ignores it"
    if framework in _ALPHA_FRAMEWORKS:
        message = f"{framework} is an alpha feature of Kueue that is off by default"
        return f"{message}, and no configuration in git lists it"
    return ""


def find_namespace(job: Cursor) -> str:
    """Return the namespace of a job as written, or ""."""
    return str(job.get("metadata", "namespace").value_or(""))


def find_queue_label(job: QueuedJob) -> Cursor:
    """Return the label with the queue; its value is None if nobody wrote one.

    The API server copies the labels of a Pod template to some jobs without labels.
    """
    labels = job.place.get("metadata", "labels")
    if job.integration.takes_labels_of_template and not labels.value:
        labels = job.place.get("spec", "template", "metadata", "labels")
    return labels.get(QUEUE_LABEL)


def decide_admission(job: QueuedJob, cluster: Cluster, tree: QuotaTree) -> Verdict:
    """Decide what Kueue does with a job."""
    managed = _find_queue(job, cluster)
    if isinstance(managed, Verdict):
        return managed
    queue_name = managed
    namespace = find_namespace(job.place)
    refusals = [
        *iter_label_refusals(job.place, find_queue_label(job)),
        *((job.place.get(*path), text) for path, text in _iter_own_refusals(job)),
        *iter_template_refusals(job.pod_sets or ()),
    ]
    if refusals:
        place, message = refusals[0]
        return Verdict("rejected", message, queue_name, place=place)
    if job.pod_sets is None:
        return Verdict("unknown", "the Pods of this job are not known", queue_name)
    if not 1 <= len(job.pod_sets) <= MAX_POD_SETS:
        message = f"the job has {len(job.pod_sets)} pod sets, and a Workload has 1 to {MAX_POD_SETS}"
        return Verdict("inadmissible", message, queue_name)
    label = job.place.get("metadata", "labels", PREBUILT_LABEL)
    if not label.exists:
        return _decide_workload(job, queue_name, cluster, tree)
    workload = cluster.workloads.get((namespace, str(label.value)))
    if workload is None:
        message = f"the prebuilt Workload {label.value} is not in git"
        return Verdict("unknown", message, queue_name, place=label)
    prebuilt = job._replace(pod_sets=_list_pod_sets(workload))
    verdict = _decide_workload(prebuilt, queue_name, cluster, tree)
    if _describe_pod_sets(prebuilt) == _describe_pod_sets(job):
        return verdict
    # Kueue finds only later that the Workload is not that of the job.
    message = "The prebuilt workload is out of sync with its user job"
    return verdict._replace(name="rejected", message=message, place=workload.get("spec", "podSets"))


def _list_pod_sets(workload: Cursor) -> list[PodSet]:
    return [
        PodSet(
            str(one.get("name").value),
            int(one.get("count").value_or(1)),
            one.get("template"),
            one.get("count"),
        )
        for one in workload.get("spec", "podSets").entries()
    ]


def _describe_pod_sets(job: QueuedJob) -> list[tuple[str, int, Any]]:
    return [(one.name, one.size, one.template.get("spec").value) for one in job.pod_sets or ()]


def _decide_workload(job: QueuedJob, queue_name: str, cluster: Cluster, tree: QuotaTree) -> Verdict:
    """Decide about the Workload with the pod sets of a job."""
    namespace = find_namespace(job.place)
    demands = [_build_demand(one, namespace, cluster) for one in job.pod_sets or ()]
    verdict = _check_priority(job, cluster) or _decide(job, queue_name, namespace, demands, cluster, tree)
    flavors = {one.name: one.flavors for one in verdict.pod_sets}
    sizes = {one.name: one.admitted_size for one in verdict.pod_sets}
    pod_sets = tuple(
        PlannedPodSet(
            one.name,
            one.size,
            format_amounts(one.requests) if one.size else {},
            flavors.get(one.name, {}),
            sizes.get(one.name, 0),
        )
        for one in demands
    )
    return verdict._replace(queue=queue_name, pod_sets=pod_sets)


def _iter_own_refusals(job: QueuedJob) -> list[tuple[Any, str]]:
    return list(job.integration.validate(job.place)) if job.integration.validate is not None else []


def _build_demand(pod_set: PodSet, namespace: str, cluster: Cluster) -> PodSetDemand:
    pod_spec = get_mapping(pod_set.template.value, "spec")
    resources = compute_pod_resources(pod_spec, namespace, cluster)
    return PodSetDemand(
        pod_set.name,
        pod_set.size,
        count_requests(resources, cluster),
        pod_spec,
        read_topology_request(pod_set.template.value),
        pod_set.min_count,
    )


def _find_queue(job: QueuedJob, cluster: Cluster) -> str | Verdict:
    """Return the name of the queue of a job that Kueue manages, else the verdict."""
    configuration, namespace = cluster.configuration, find_namespace(job.place)
    label = find_queue_label(job)
    if configuration.doubt:
        return Verdict("unknown", configuration.doubt, place=configuration.place)
    if off := explain_framework_off(job.framework, configuration):
        if configuration.frameworks is None:
            return Verdict("ignored", off)
        return Verdict("ignored", off, place=label if label.exists else None, cause="kind-off")
    if job.integration.is_left_alone is not None and job.integration.is_left_alone(job.place):
        return Verdict("ignored", "Kueue does not queue a job that runs in an existing cluster")
    selector = configuration.namespace_selector
    if selector is not None and any(_selects(selector, one, cluster) for one in _SYSTEM_NAMESPACES):
        message = "managedJobsNamespaceSelector should not match the namespaces of the system"
        return Verdict("rejected", message, place=configuration.place)
    if namespace in _SYSTEM_NAMESPACES:
        return Verdict("ignored", f"Kueue leaves the namespace {namespace} alone")
    is_selected = selector is None or _selects(selector, namespace, cluster)
    if label.exists:
        if is_selected is False:
            message = "managedJobsNamespaceSelector does not match the namespace: it stays suspended"
            return Verdict(
                "ignored", message, str(label.value), place=configuration.place, cause="namespace-off"
            )
        return str(label.value)
    if _find_local_queue(DEFAULT_QUEUE, namespace, cluster) is not None:
        return DEFAULT_QUEUE
    if configuration.manages_unlabelled and is_selected is not False:
        return ""
    return Verdict("ignored", f"it has no label {QUEUE_LABEL}", cause="no-queue")


def _check_priority(job: QueuedJob, cluster: Cluster) -> Verdict | None:
    """Return the verdict if a priority class does not exist: then there is no Workload."""
    label = job.place.get("metadata", "labels", PRIORITY_LABEL)
    if label.exists and label.value:
        name = str(label.value)
        if (refusal := _find_refusal("WorkloadPriorityClass", "", name, cluster)) is not None:
            return refusal
        if name in cluster.workload_priorities:
            return None
        if not cluster.has_queues:
            return Verdict("unknown", f"WorkloadPriorityClass {name} is not in git", place=label)
        message = f'WorkloadPriorityClass.{KUEUE_GROUP} "{name}" not found'
        return Verdict("inadmissible", message, place=label, cause="priority")
    classes = [
        job.priority_class,
        *(one.template.get("spec", "priorityClassName") for one in job.pod_sets or ()),
    ]
    place = next((one for one in classes if one.value), None)
    if place is None or place.value in (*_SYSTEM_CLASSES, *cluster.priorities):
        return None
    message = f'PriorityClass.scheduling.k8s.io "{place.value}" not found'
    if not cluster.priorities and str(place.value) not in cluster.workload_priorities:
        return Verdict("unknown", f"PriorityClass {place.value} is not in git", place=place)
    return Verdict("inadmissible", message, place=place, cause="priority")


def _find_local_queue(name: str, namespace: str, cluster: Cluster) -> LocalQueue | None:
    """Return the LocalQueue of a namespace; one of the two may lack it where another tool sets it."""
    found = cluster.local_queues.get((namespace, name)) or cluster.local_queues.get(("", name))
    if found is None and not namespace:
        named = [one for (_, other), one in cluster.local_queues.items() if other == name]
        found = named[0] if len(named) == 1 else None
    return found


def _decide(
    job: QueuedJob,
    queue_name: str,
    namespace: str,
    demands: Sequence[PodSetDemand],
    cluster: Cluster,
    tree: QuotaTree,
) -> Verdict:
    """Decide about a job that has a Workload."""
    label = find_queue_label(job)
    place = label if label.exists else job.place
    local_queue = _find_local_queue(queue_name, namespace, cluster)
    if local_queue is None:
        if not cluster.has_queues:
            return Verdict("unknown", "git holds no queues", place=place)
        if not namespace and any(name == queue_name for _, name in cluster.local_queues):
            message = f"several namespaces have a LocalQueue {queue_name}, and no namespace is stated"
            return Verdict("unknown", message, place=place)
        message = f"LocalQueue {queue_name} doesn't exist"
        return Verdict("inadmissible", message, place=place, cause="no-local-queue")
    if (doubt := _find_ambiguous("LocalQueue", local_queue.namespace, local_queue.name, cluster)) is not None:
        return doubt
    if (refusal := _find_refusal("LocalQueue", local_queue.namespace, queue_name, cluster)) is not None:
        return refusal
    if local_queue.stop_policy != "None":
        stop = local_queue.place.get("spec", "stopPolicy")
        return Verdict("inadmissible", f"LocalQueue {queue_name} is inactive", place=stop, cause="stopped")
    name = local_queue.cluster_queue
    queue = cluster.cluster_queues.get(name)
    if queue is None:
        written = local_queue.place.get("spec", "clusterQueue")
        place = written if written.exists else local_queue.place
        if not cluster.has_cluster_objects:
            return Verdict("unknown", f"ClusterQueue {name} is not in git", place=place)
        message = f"ClusterQueue {name} doesn't exist"
        return Verdict("inadmissible", message, place=place, cause="missing", missing_kind="ClusterQueue")
    inactive = _explain_inactive(queue, cluster)
    if inactive is not None:
        return inactive._replace(cluster_queue=name)
    return _schedule(job, queue, namespace or local_queue.namespace, demands, cluster, tree)


def _find_refusal(kind: str, namespace: str, name: str, cluster: Cluster) -> Verdict | None:
    """Return the verdict if the API server refuses an object."""
    reason = cluster.refused.get((kind, namespace, name))
    return Verdict("rejected", f"{kind} {name} is refused: {reason}") if reason is not None else None


def _find_ambiguous(kind: str, namespace: str, name: str, cluster: Cluster) -> Verdict | None:
    """Return the verdict if several documents define an object in different ways, as overlays do."""
    files = cluster.ambiguous.get((kind, namespace, name))
    if files is None:
        return None
    return Verdict("unknown", f"{kind} {name} is in {files}, so it is unclear which one counts")


def _explain_inactive(queue: ClusterQueue, cluster: Cluster) -> Verdict | None:
    """Return the verdict for a ClusterQueue that is refused, stopped, or lacks something that it names."""
    names = [("ClusterQueue", queue.name)]
    if queue.cohort:
        names.append(("Cohort", queue.cohort))
    flavors = list(dict.fromkeys(flavor.name for group in queue.groups for flavor in group.flavors))
    names += [("ResourceFlavor", name) for name in flavors]
    known = [cluster.flavors[name] for name in flavors if name in cluster.flavors]
    topologies = [one.topology for one in known if one.topology]
    names += [("Topology", name) for name in topologies]
    for kind, name in names:
        if (doubt := _find_ambiguous(kind, "", name, cluster)) is not None:
            return doubt
        if (refusal := _find_refusal(kind, "", name, cluster)) is not None:
            return refusal
    message = f"ClusterQueue {queue.name} is inactive"
    if queue.stop_policy != "None":
        stop = queue.place.get("spec", "stopPolicy")
        return Verdict("inadmissible", message, place=stop, cause="stopped")
    missing = [name for name in flavors if name not in cluster.flavors]
    if missing:
        return _lack("ResourceFlavor", missing[0], queue, queue.place)
    lost = next((one for one in known if one.topology and one.topology not in cluster.topologies), None)
    if lost is not None:
        written = lost.place.get("spec", "topologyName")
        return _lack("Topology", lost.topology, queue, written)
    states = {name: cluster.admission_checks.get(name, False) for name in queue.admission_checks}
    absent = next((name for name in states if name not in cluster.admission_checks), None)
    if absent is not None:
        return _lack("AdmissionCheck", absent, queue, queue.place)
    failed = next((name for name, state in states.items() if state is False), None)
    if failed is not None:
        message = f"{message}: AdmissionCheck {failed} is inactive"
        return Verdict("inadmissible", message, place=queue.place, cause="inactive")
    return None


def _lack(kind: str, name: str, queue: ClusterQueue, place: Cursor) -> Verdict:
    """Return the verdict for a ClusterQueue that needs an object which does not exist."""
    message = f"ClusterQueue {queue.name} is inactive: {kind} {name} is missing"
    return Verdict("inadmissible", message, place=place, cause="missing", missing_kind=kind)


def _schedule(
    job: QueuedJob,
    queue: ClusterQueue,
    namespace: str,
    demands: Sequence[PodSetDemand],
    cluster: Cluster,
    tree: QuotaTree,
) -> Verdict:
    """Decide about a job in an active ClusterQueue."""
    answer = Verdict("pending", cluster_queue=queue.name, place=queue.place)
    if tree.is_in_cycle(queue.name):
        message = f"ClusterQueue {queue.name} is inactive: its cohorts form a cycle"
        return answer._replace(message=message, cause="inactive")
    selector = queue.namespace_selector
    asks_for_labels = selector is not None and any(selector.values())
    if asks_for_labels and (doubt := _find_ambiguous("Namespace", "", namespace, cluster)) is not None:
        return doubt
    is_selected = selector is not None and _selects(selector, namespace, cluster)
    if is_selected is None:
        message = f"namespaceSelector of ClusterQueue {queue.name} asks for labels of a Namespace not in git"
        return answer._replace(name="unknown", message=message)
    if not is_selected:
        written = queue.place.get("spec", "namespaceSelector")
        return answer._replace(
            message="workload namespace doesn't match ClusterQueue selector",
            cause="selector",
            place=written if written.exists else queue.place,
        )
    ranges = cluster.limit_ranges.get(namespace, ())
    for index, pod_set in enumerate(job.pod_sets or ()):
        resources = compute_pod_resources(get_mapping(pod_set.template.value, "spec"), namespace, cluster)
        refusal = explain_refusal(resources, ranges, index)
        if refusal:
            return answer._replace(
                message=refusal, place=pod_set.template, cause="limits", pod_set=pod_set.name
            )
    assignment = assign_flavors(demands, queue, cluster, tree)
    if assignment.needs_nodes:
        message = "the flavor needs a topology of Nodes, and git holds no Nodes"
        return answer._replace(name="unknown", message=message)
    if assignment.message:
        return answer._replace(
            message=assignment.message,
            place=assignment.place if assignment.place is not None else queue.place,
            cause=assignment.cause,
            pod_set=assignment.pod_set,
        )
    pod_sets = tuple(
        PlannedPodSet(one.name, one.size, {}, assignment.flavors[one.name], assignment.sizes[one.name])
        for one in demands
    )
    answer = answer._replace(pod_sets=pod_sets, usage=assignment.usage, place=None)
    unknown = [name for name in queue.admission_checks if cluster.admission_checks.get(name) is None]
    if unknown:
        message = f"quota is reserved; whether AdmissionCheck {unknown[0]} is active is not in git"
        return answer._replace(name="unknown", message=message)
    if queue.admission_checks:
        return answer._replace(message=f"Quota reserved in ClusterQueue {queue.name}")
    return answer._replace(name="admitted", message="The workload is admitted")


def _selects(selector: Mapping[str, Any], namespace: str, cluster: Cluster) -> bool | None:
    """Whether a selector takes a namespace; None if it asks for labels of a Namespace that git lacks."""
    keys = {*selector["matchLabels"], *(one["key"] for one in selector["matchExpressions"])}
    known = cluster.namespaces.get(namespace)
    if known is None and (keys - {NAMESPACE_NAME_LABEL} or (keys and not namespace)):
        return None
    labels = known.labels if known is not None else {}
    return matches_selector(selector, {**labels, NAMESPACE_NAME_LABEL: namespace})
