"""Admission of a job by Kueue according to objects in the repository: queues, quotas, flavors, topology.

A finding needs an object in git that decides; anything else is unknown. Source:
docs/evidence/kueue.md.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import Cursor, TracedDocument, root_cursor
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.kinds.spec import PodSet
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.jobs import find_kind_spec, find_written_path, format_list, namespace_of
from podplan.lint.analysis.queue_subjects import name_labels, name_subject
from podplan.lint.checks.kueue_labels import queue_name_ignored
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation, cache_latest

if TYPE_CHECKING:
    from podplan.cluster.admission import QueuedJob, Verdict
    from podplan.cluster.cohorts import QuotaTree
    from podplan.cluster.model import Cluster, ClusterQueue

_QUEUE = "kueue.x-k8s.io/queue-name"
_TOPOLOGY_REQUESTS = tuple(
    f"kueue.x-k8s.io/podset-{name}-topology" for name in ("required", "preferred", "slice-required")
)
_UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"
_GROUP_NAME = "kueue.x-k8s.io/podset-group-name"
_COMMON_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")
_LEADER_AND_WORKERS = 2
# Jobs in these folders are for clusters with other queues.
_DEFAULT_NAMESPACE = "default"
_SYSTEM_CLASSES = "system-"  # every cluster has these PriorityClasses


class _Decision(NamedTuple):
    job: QueuedJob
    verdict: Verdict
    cluster: Cluster


@check()
def queue_name_missing(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A job without a queue in a namespace with queues.

    Values: ``effect``, ``queues``, ``queue``, ``subject``, ``labels``.
    """
    decision, namespace = _decide(target.job), namespace_of(target.job)
    if decision is None or not namespace or not _is_one_cluster(decision.cluster):
        return
    if next(queue_name_ignored(target, {}), None) is not None:
        return
    cluster, verdict = decision.cluster, decision.verdict
    queues = _list_usable_queues(cluster, namespace)
    if verdict.queue == "" and verdict.cause == "no-local-queue":
        effect = "Kueue manages jobs without a queue, so it stays suspended"
    elif verdict.cause == "no-queue":
        resource = _find_covered_resource(decision, namespace)
        if not resource:
            return
        effect = f"it takes {resource} beside the quotas of the namespace"
    else:
        return
    if queues:
        path = find_written_path(target.data, "metadata", "labels")
        values = {"effect": effect, "queues": format_list(queues), "queue": queues[0]}
        values |= {"subject": name_subject(target.doc), "labels": name_labels(target.doc)}
        place = cluster.local_queues[namespace, queues[0]].place
        yield Violation(path, values, at_key=True, related=[_relate(place, "a queue of the namespace")])


def _list_usable_queues(cluster: Cluster, namespace: str) -> list[str]:
    """Return the LocalQueues of a namespace that are not stopped and whose ClusterQueue is not known to be
    missing."""
    known = cluster.cluster_queues
    return sorted(
        name
        for (place, name), queue in cluster.local_queues.items()
        if place == namespace
        and queue.stop_policy == "None"
        and (queue.cluster_queue in known or not cluster.has_cluster_objects)
    )


@check()
def queue_without_effect(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A queue of a job that the configuration of Kueue excludes. Values: ``why``."""
    decision = _decide(target.job)
    label = _find_label(target.job)
    if decision is None or label is None:
        return
    place, subject = decision.cluster.configuration.place, name_subject(target.doc)
    related = [_relate(place, "the configuration of Kueue")] if place is not None else []
    if decision.verdict.cause == "kind-off":
        why = f"integrations.frameworks does not list {decision.job.framework}: {subject} starts at once"
    elif decision.verdict.cause == "namespace-off":
        ignored = "managedJobsNamespaceSelector does not match its namespace"
        why = f"{ignored}: {subject} stays suspended for ever"
    else:
        return
    yield Violation(label, {"why": why}, related=related)


@check()
def unknown_local_queue(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A LocalQueue that is not in the namespace. Values: ``queue``, ``why``, ``subject``."""
    decision, label = _decide(target.job), _find_label(target.job)
    if decision is None or label is None or decision.verdict.cause != "no-local-queue":
        return
    queues, namespace = decision.cluster.local_queues, namespace_of(target.job)
    queue, is_whole = str(decision.verdict.queue), _is_one_cluster(decision.cluster)
    here = [name for place, name in queues if place == namespace]
    elsewhere = sorted(place for place, name in queues if name == queue)
    meant = suggest_phrase(queue, here)
    is_beside = any(queues[place, queue].place.doc.name == target.doc.name for place in elsewhere)
    if not namespace or not (is_whole or meant or is_beside):
        return
    if elsewhere:
        why = f'is in the namespace {format_list(elsewhere)}, not in "{namespace}"'
        place = queues[elsewhere[0], queue].place.get("metadata", "namespace")
    elif meant or (here and namespace != _DEFAULT_NAMESPACE):
        hint = meant or f", which has {format_list(sorted(here))}"
        why, place = f'is not in the namespace "{namespace}"{hint}', queues[namespace, here[0]].place
    else:
        return
    values = {"queue": queue, "why": why, "subject": name_subject(target.doc)}
    yield Violation(label, values, related=[_relate(place, "a LocalQueue")])


@check()
def unusable_queue(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A queue that admits no job of the namespace. Values: ``reason``, ``subject``."""
    decision = _decide(target.job)
    if decision is None or decision.verdict.cause not in ("inactive", "missing", "selector"):
        return
    verdict = decision.verdict
    if verdict.cause == "missing" and not _is_missing(decision, target.doc):
        return  # it may be in another repository
    reason = str(verdict.message)
    if verdict.cause == "selector":
        selector = decision.cluster.cluster_queues[str(verdict.cluster_queue)].namespace_selector
        subject = f"namespaceSelector of ClusterQueue {verdict.cluster_queue}"
        reason = f"{subject} does not match the namespace"
        if selector is None:
            reason = f"{subject} is missing, which matches no namespace"
    yield _report(target, decision, {"reason": reason}, "the object that decides")


@check()
def stopped_queue(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A queue with a stopPolicy. Values: ``reason``, ``subject``."""
    decision = _decide(target.job)
    if decision is not None and decision.verdict.cause == "stopped":
        yield _report(target, decision, {"reason": decision.verdict.message}, "its stopPolicy")


@check()
def unknown_priority_class(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A priority class that is not in git. Values: ``kind``, ``name``, ``why``."""
    decision = _decide(target.job)
    if decision is None:
        yield from _iter_unknown_classes(target.job)
    if decision is None or decision.verdict.cause != "priority" or decision.verdict.place is None:
        return
    place, cluster = decision.verdict.place, decision.cluster
    is_label = "labels" in place.path
    kind = "WorkloadPriorityClass" if is_label else "PriorityClass"
    known = cluster.workload_priorities if is_label else cluster.priorities
    if known:
        name = str(place.value)
        why = suggest_phrase(name, known) or f"; git has {format_list(sorted(known))}"
        related = [_relate(next(iter(known.values())), f"a {kind}")]
        values = {"kind": kind, "name": name, "why": why}
        yield Violation(place.path, values, doc=place.doc, related=related)


def _iter_unknown_classes(job: LoweredJob) -> Iterator[Violation]:
    """Yield the priority classes of Pods that Kueue does not queue."""
    known = job.cluster.priorities if job.cluster is not None else {}
    for group in job.pods if known else ():
        name = get_text(get_mapping(group.doc.data, "spec"), "priorityClassName")
        if name and name not in known and not name.startswith(_SYSTEM_CLASSES):
            why = suggest_phrase(name, known) or f"; git has {format_list(sorted(known))}"
            values = {"kind": "PriorityClass", "name": name, "why": why}
            related = [_relate(next(iter(known.values())), "a PriorityClass")]
            path = ("spec", "priorityClassName")
            yield Violation(path, values, doc=group.doc, group=group, related=related)
            return


@check()
def resource_not_covered(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A resource that no group of the ClusterQueue covers.

    Values: ``resource``, ``queue``, ``covered``, ``subject``.
    """
    decision = _decide(target.job)
    if decision is None or decision.verdict.cause != "uncovered":
        return
    resource = str(decision.verdict.message).partition(": resource ")[2].partition(" ")[0]
    queue = decision.cluster.cluster_queues[str(decision.verdict.cluster_queue)]
    covered = [name for group in queue.groups for name in group.covered_resources]
    if decision.cluster.configuration.place is None and any(_counts(name, resource) for name in covered):
        return  # a transformation in the configuration of Kueue may make one of the other
    values = {"resource": resource, "queue": queue.name, "covered": format_list(covered, 8) or "nothing"}
    values["subject"] = name_subject(target.doc)
    place = _find_request(_find_pod_set(decision), resource)
    related = [_relate(queue.place.get("spec", "resourceGroups"), "the resources of the queue")]
    yield Violation(place.path, values, doc=place.doc, related=related)


def _counts(covered: str, resource: str) -> bool:
    """Whether a resource seems to be a sum of another one, as "total-gpucores" of "gpucores"."""
    (domain, _, total), (own_domain, _, name) = covered.rpartition("/"), resource.rpartition("/")
    return domain == own_domain and total != name and total.endswith(name)


@check()
def never_admitted(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A job that exceeds the quota of every flavor of its queue.

    Values: ``pod_set``, ``reason``, ``queue``.
    """
    decision = _decide(target.job)
    if decision is None or decision.verdict.cause != "quota":
        return
    from podplan.cluster.cohorts import has_whole_cohort

    queue = decision.cluster.cluster_queues[str(decision.verdict.cluster_queue)]
    if not has_whole_cohort(queue, decision.cluster):
        return
    pod_set = _find_pod_set(decision)
    reason = str(decision.verdict.message).partition(": ")[2]
    place = pod_set.count_place if "insufficient quota" in reason else pod_set.template
    decides, label = decision.verdict.place, "the quota"
    if "TopologyAwareScheduling" in reason and "insufficient quota" not in reason:
        request = _find_topology_request(pod_set)
        place = request if request is not None else place
        flavors = [one.name for group in queue.groups for one in group.flavors]
        known = [decision.cluster.flavors[one].place for one in flavors if one in decision.cluster.flavors]
        decides, label = next(iter(known), decides), "a flavor of the queue"
    values = {"pod_set": pod_set.name, "reason": reason, "queue": queue.name}
    reasons = _find_reasons(decision, pod_set, queue, reason)
    is_told = any(said == label for _, _, said in reasons)
    related = [_relate(decides, label)] if decides is not None and not is_told else []
    related += reasons
    yield Violation(place.path, values, doc=place.doc, related=related)


def _find_reasons(
    decision: _Decision, pod_set: PodSet, queue: ClusterQueue, reason: str
) -> list[tuple[TracedDocument, Path, str]]:
    """Return the fields that the reason of Kueue is about: in the Pods, the queue and its flavors."""
    spec, places = pod_set.template.get("spec"), []
    known = decision.cluster.flavors
    for flavor in (one for group in queue.groups for one in group.flavors):
        for index, quota in enumerate(flavor.place.get("resources").entries()):
            if f"insufficient quota for {quota.get('name').value} in flavor {flavor.name}" in reason:
                places.append((flavor.place.get("resources", index, "nominalQuota"), "the quota"))
        written = known[flavor.name].place.get("spec") if flavor.name in known else None
        if written is not None and "node affinity" in reason:
            places += [(written.get("nodeLabels"), "the nodes"), (spec.get("nodeSelector"), "the Pods")]
        if written is not None and "untolerated taint" in reason:
            places += [(written.get("nodeTaints"), "the nodes"), (spec.get("tolerations"), "the Pods")]
    return [_relate(_narrow(place), label) for place, label in places[:4] if place.exists]


def _narrow(place: Cursor) -> Cursor:
    """Return the only entry of a list or mapping, or the place itself."""
    value = place.value
    if isinstance(value, dict) and len(value) == 1:
        return place.get(next(iter(value)))
    if isinstance(value, list) and len(value) == 1:
        entry = value[0]
        key = (
            next((one for one in ("value", "effect") if one in entry), "") if isinstance(entry, dict) else ""
        )
        return place.get(0, key) if key else place.get(0)
    return place


def _find_topology_request(pod_set: PodSet) -> Cursor | None:
    """Return the annotation by which a pod set asks for a topology."""
    annotations = pod_set.template.get("metadata", "annotations")
    requests = (annotations.get(key) for key in (*_TOPOLOGY_REQUESTS, _UNCONSTRAINED))
    return next((one for one in requests if one.exists), None)


@check()
def unknown_topology_level(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A topology level that no flavor of the queue has.

    Values: ``level``, ``queue``, ``levels``, ``subject``.
    """
    decision = _decide(target.job)
    if decision is None or decision.verdict.cause != "level":
        return
    cluster = decision.cluster
    queue = cluster.cluster_queues[str(decision.verdict.cluster_queue)]
    flavors = [cluster.flavors[flavor.name] for group in queue.groups for flavor in group.flavors]
    topologies = dict.fromkeys(one.topology for one in flavors if one.topology)
    levels = list(dict.fromkeys(level for name in topologies for level in cluster.topologies[name]))
    annotations = _find_pod_set(decision).template.get("metadata", "annotations")
    for key in _TOPOLOGY_REQUESTS:
        level = annotations.get(key)
        if level.exists and level.value not in levels:
            values = {"level": level.value, "queue": queue.name, "levels": format_list(levels, 8)}
            values["subject"] = name_subject(target.doc)
            related = [_relate(queue.place, "the queue")]
            yield Violation(level.path, values, doc=level.doc, related=related)
            return


@check()
def pod_sets_apart(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A leader and workers that each request their own topology domain.

    Values: ``leader``, ``workers``, ``level``.
    """
    spec, cr = find_kind_spec(target.job), target.job.cr
    if cr is None or spec is None or spec.load_queue_integration is None or _find_label(target.job) is None:
        return
    if not _mentions_topology(target.job):
        return
    pod_sets = spec.load_queue_integration().list_pod_sets(
        root_cursor(cr), target.job.references, target.job.options
    )
    if len(pod_sets) != _LEADER_AND_WORKERS or all(one.size != 1 for one in pod_sets):
        return
    leader, workers = sorted(pod_sets, key=lambda one: one.size)
    for key in _TOPOLOGY_REQUESTS[:2]:
        written = [one.template.get("metadata", "annotations", key) for one in (leader, workers)]
        grouped = [one.template.get("metadata", "annotations", _GROUP_NAME).exists for one in pod_sets]
        if all(one.exists for one in written) and written[0].value == written[1].value and not any(grouped):
            values = {"leader": leader.name, "workers": workers.name, "level": written[1].value}
            related = [(written[0].doc, written[0].path, f"the request of {leader.name}")]
            yield Violation(written[1].path, values, related, doc=written[1].doc)


@cache_latest
def _decide(job: LoweredJob) -> _Decision | None:
    """Decide about a job; None if git has no queues, or Kueue does not know the kind."""
    cluster, spec = job.cluster, find_kind_spec(job)
    if cluster is None or job.cr is None or spec is None or spec.load_queue_integration is None:
        return None
    if not cluster.has_queues and cluster.configuration.place is None:
        return None
    if not set(_list_references(job)) <= job.references.keys():
        return None
    from podplan.cluster.admission import build_queued_job
    from podplan.lint.analysis.queued_jobs import decide_as_written

    options = job.options._replace(resumed=True)
    queued = build_queued_job(root_cursor(job.cr), spec, job.references, options)
    if queued is None:
        return None
    return _Decision(queued, decide_as_written(queued, cluster, _build_tree(cluster)), cluster)


def _list_references(job: LoweredJob) -> list[Path]:
    spec = find_kind_spec(job)
    return [one.path for one in spec.list_references(job.cr.data)] if spec is not None and job.cr else []


@cache_latest
def _build_tree(cluster: Cluster) -> QuotaTree:
    from podplan.cluster.cohorts import QuotaTree

    return QuotaTree(cluster)


def _find_label(job: LoweredJob) -> Path | None:
    """Return the path of the label with the queue, which the Pod template may have for the job."""
    decision = _decide(job)
    if decision is not None:
        from podplan.cluster.admission import find_queue_label

        label = find_queue_label(decision.job)
        return label.path if label.exists else None
    labels = root_cursor(job.cr).get("metadata", "labels", _QUEUE) if job.cr is not None else None
    return labels.path if labels is not None and labels.exists else None


def _report(target: Target, decision: _Decision, values: Mapping[str, Any], label: str) -> Violation:
    """Build the violation at the queue of a job, with the deciding object as a related location."""
    path = _find_label(target.job) or ("metadata", "name")
    place = decision.verdict.place
    values = {**values, "subject": name_subject(target.doc)}
    related = [_relate(place, label)] if place is not None else []
    queue = decision.cluster.cluster_queues.get(str(decision.verdict.cluster_queue))
    if queue is not None and decision.verdict.cause == "selector":
        selector = queue.place.get("spec", "namespaceSelector", "matchLabels")
        related += [_relate(_narrow(selector), "its labels")] if selector.exists else []
    for flavor in (one for group in queue.groups for one in group.flavors) if queue is not None else ():
        if decision.verdict.cause == "missing" and flavor.name not in decision.cluster.flavors:
            related.append(_relate(flavor.place.get("name"), "the flavor"))
    return Violation(path, values, related=related)


def _relate(place: Cursor, label: str) -> tuple[TracedDocument, Path, str]:
    return place.doc, place.path, label


def _is_missing(decision: _Decision, job: TracedDocument) -> bool:
    """Whether an object that git does not have is also missing in the cluster.

    Git must have others of its kind. The queue of a job in the file of the job may be all that git has of it,
    as in collections of examples, so these must be in the same file, or one must have a similar name.
    """
    verdict, cluster = decision.verdict, decision.cluster
    known: Mapping[str, Any] = {
        "ClusterQueue": cluster.cluster_queues,
        "ResourceFlavor": cluster.flavors,
        "Topology": cluster.topologies,
        "AdmissionCheck": cluster.admission_checks,
    }[verdict.missing_kind]
    place = verdict.place
    if verdict.missing_kind != "ClusterQueue" or place is None or place.doc.name != job.name:
        return bool(known)
    is_beside = any(one.place.doc.name == job.name for one in cluster.cluster_queues.values())
    return is_beside or bool(suggest_phrase(str(place.value), known))


def _is_one_cluster(cluster: Cluster) -> bool:
    """Whether git appears to describe one cluster: its ClusterQueues are in one folder.

    If several folders have some, as in collections of examples, a job may be for any of them.
    """
    return len({posixpath.dirname(one.place.doc.name) for one in cluster.cluster_queues.values()}) == 1


def _find_pod_set(decision: _Decision) -> PodSet:
    pod_sets = decision.job.pod_sets or ()
    return next((one for one in pod_sets if one.name == decision.verdict.pod_set), pod_sets[0])


def _find_request(pod_set: PodSet, resource: str) -> Cursor:
    """Return where a pod set requests a resource, else its containers."""
    spec = pod_set.template.get("spec")
    for field in ("containers", "initContainers"):
        for container in spec.get(field).entries():
            for amounts in ("requests", "limits"):
                written = container.get("resources", amounts, resource)
                if written.exists:
                    return written
    return spec.get("containers") if spec.get("containers").exists else pod_set.template


def _find_covered_resource(decision: _Decision, namespace: str) -> str:
    """Return a requested device for which a queue of the namespace has quota, else ""."""
    cluster = decision.cluster
    covered = {
        name
        for (place, _), local in cluster.local_queues.items()
        if place == namespace and local.cluster_queue in cluster.cluster_queues
        for group in cluster.cluster_queues[local.cluster_queue].groups
        for name in group.covered_resources
        if name not in _COMMON_RESOURCES
    }
    for pod_set in decision.job.pod_sets or ():
        for name in sorted(covered):
            if _find_request(pod_set, name).path[-1:] == (name,):
                return name
    return ""


def _mentions_topology(job: LoweredJob) -> bool:
    sources = [job.cr, *(one.doc for one in job.references.values())]
    return any(one is not None and (one.source is None or "-topology" in one.source.text) for one in sources)
