"""Gangs: Pods that start together or not at all, and settings that prevent it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import format_count
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.cross_job import RebuildJob
from podplan.lint.analysis.inventory import get_entry
from podplan.lint.analysis.jobs import (
    JobIdentity,
    JobNameSummary,
    build_name_summary,
    count_gpus,
    count_pods,
    count_pods_and_gpus,
    find_gpu_pods,
    find_pod_group,
    find_written_path,
    get_replica_specs,
    has_isolated_replicas,
    has_trait,
    is_mode_enabled,
    list_replica_places,
    queue_of,
    spec_of,
)
from podplan.lint.analysis.resources import format_amount, get_effective_request
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation, cache_latest

POD_GROUP_LABEL = "scheduler.tensorstack.dev/group-name"
POD_GROUP_ROLE_LABEL = "scheduler.tensorstack.dev/role"
# The annotation or label of a Pod that names its PodGroup, by API group. Sources: the T9k manual;
# https://github.com/volcano-sh/apis/blob/master/pkg/apis/scheduling/v1beta1/labels.go;
# https://github.com/kubernetes-sigs/scheduler-plugins/tree/master/pkg/coscheduling.
_MEMBERSHIP: dict[str, Path] = {
    "scheduler.tensorstack.dev": ("metadata", "labels", POD_GROUP_LABEL),
    "scheduling.volcano.sh": ("metadata", "annotations", "scheduling.k8s.io/group-name"),
    "scheduling.x-k8s.io": ("metadata", "labels", "scheduling.x-k8s.io/pod-group"),
}
SCHEDULER_PATH: Path = ("spec", "scheduler", "t9kScheduler")


@check()
def no_gang(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """Several Pods with GPUs that depend on each other, and no PodGroup. Values: ``pods``, ``gpus``.

    No scheduler places a Pod that names its node.
    """
    job = target.job
    if has_isolated_replicas(job) or not has_trait(job, "t9k-scheduler"):
        return
    with_gpus = [group for group in find_gpu_pods(job) if not _find_pinned_node(group)[0]]
    pod_count, gpu_count = count_pods_and_gpus(with_gpus)
    has_group_label = any(
        POD_GROUP_LABEL in get_mapping(group.doc.data["metadata"], "labels") for group in job.pods
    )
    if pod_count > 1 and find_pod_group(job) is None and not has_group_label:
        yield Violation(
            find_written_path(target.data, *SCHEDULER_PATH), {"pods": pod_count, "gpus": gpu_count}
        )


@check()
def other_scheduler(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A template that names another scheduler than the CR implies.

    Values: ``scheduler``, ``implied``, ``because``.
    """
    gang = find_pod_group(target.job)
    for replica_spec in get_replica_specs(target.job):
        template = get_mapping(replica_spec.data, "template")
        scheduler_name = get_text(get_mapping(template, "spec"), "schedulerName")
        path = (*replica_spec.path, "template", "spec", "schedulerName")
        reason, implied_scheduler = "", "t9k-scheduler"
        cause: Path = ("spec", "scheduler", "t9kScheduler")
        if gang is not None and scheduler_name and scheduler_name != implied_scheduler:
            reason = "spec.scheduler.t9kScheduler is set"
        elif gang is None and _has_pod_group_label(template) and scheduler_name != implied_scheduler:
            reason = f"the template puts the Pods into a PodGroup with the label {POD_GROUP_LABEL}"
            path = find_written_path(target.data, *path)
            cause = (*replica_spec.path, "template", "metadata", "labels", POD_GROUP_LABEL)
        if reason:
            values = {
                "scheduler": scheduler_name or "the default scheduler",
                "implied": implied_scheduler,
                "because": reason,
            }
            related = [(target.doc, cause, f"requires {implied_scheduler}")]
            yield Violation(path, values, related)


def _has_pod_group_label(template: Mapping[str, Any]) -> bool:
    return POD_GROUP_LABEL in get_mapping(get_mapping(template, "metadata"), "labels")


@check()
def gang_over_quota(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A gang whose minimum members together request more than the quota of their queue.

    Values: ``queue``, ``resource``, ``needs``, ``quota``, ``members``, ``sum``: how ``needs`` is computed.
    """
    gang = find_pod_group(target.job)
    if gang is None or target.job.inventory is None:
        return
    queue, members = queue_of(gang), gang.doc.data["spec"]["minMember"]
    quota = get_mapping(get_entry(target.job, "queues", queue), "quota")
    for resource, amount in quota.items():
        limit = quantities.parse_quantity(amount)
        requested, sum_text = sum_smallest_requests(target.job.pods, members, resource)
        if limit is not None and requested > limit:
            values = {
                "queue": queue,
                "resource": resource,
                "needs": format_amount(requested, resource),
                "quota": format_amount(limit, resource),
                "members": members,
                "sum": sum_text,
            }
            quota_at: Path = ("spec", "queues", queue, "quota", resource)
            related = [(target.job.inventory, quota_at, "the quota of the queue")]
            yield Violation(("spec", "minMember"), values, related=related, doc=gang.doc, group=gang)


def sum_smallest_requests(groups: list[ReplicaGroup], members: int, resource: str) -> tuple[int, str]:
    """Return the total of the ``members`` smallest Pod requests, in 10⁻⁹, and the sum as text."""
    remaining, by_size = members, dict[int, int]()
    for request, group in sorted(
        ((get_effective_request(g, resource), g) for g in groups), key=lambda pair: pair[0]
    ):
        number = min(remaining, group.replicas)
        if number <= 0:
            continue
        remaining -= number
        by_size[request] = by_size.get(request, 0) + number
    terms = [f"{number} × {format_amount(each, resource)}" for each, number in by_size.items() if each]
    return sum(each * number for each, number in by_size.items()), " + ".join(terms)


class MinimumMembers(NamedTuple):
    """The number of Pods that a PodGroup waits for, by role ("" for all), and its path in the PodGroup."""

    role: str
    minimum: int
    path: Path


class PodGroupName(NamedTuple):
    """A PodGroup by its API group and name."""

    api_group: str
    name: str


class LabeledPods(NamedTuple):
    """Pods of a replica type that name a PodGroup, and the label of a role in it."""

    type: str
    namespace: str
    group: PodGroupName
    role: str
    pods: int


class PodGroupSummary(NamedTuple):
    """The PodGroups from files that a job uses, or that an object is or names.

    ``job`` is None for an object. ``group`` is the namespace and name of an object that is a PodGroup.
    """

    job: JobNameSummary | None
    labeled_pods: tuple[LabeledPods, ...] = ()
    group: tuple[str, PodGroupName] | None = None
    minimums: tuple[MinimumMembers, ...] = ()

    @property
    def keys(self) -> set[Hashable]:
        if self.group is not None:
            return {self.group}
        places = [one.namespace for one in self.labeled_pods]
        if self.job is not None:  # a Pod from a file belongs to no job
            places.append(self.job.namespace)
        return {(where, one.group) for where in places for one in self.labeled_pods}

    @property
    def owner(self) -> Hashable:
        return "jobs" if self.group is None else "PodGroup"


def summarize_pod_groups(job: LoweredJob) -> PodGroupSummary | None:
    """Summarize the PodGroups of a job or an object; None if it uses none from a file."""
    gang = find_pod_group(job) if job.cr is None else None
    if gang is not None:
        metadata = get_mapping(gang.doc.data, "metadata")
        api_group = get_text(gang.doc.data, "apiVersion").partition("/")[0]
        group = get_text(metadata, "namespace"), PodGroupName(api_group, get_text(metadata, "name"))
        return PodGroupSummary(None, (), group, tuple(_iter_minimums(get_mapping(gang.doc.data, "spec"))))
    labeled_pods = tuple(_iter_labeled_pods(job))
    return (
        PodGroupSummary(build_name_summary(job) if job.cr is not None else None, labeled_pods)
        if labeled_pods
        else None
    )


def _iter_labeled_pods(job: LoweredJob) -> Iterator[LabeledPods]:
    for group in job.pods:
        metadata = get_mapping(group.doc.data, "metadata")
        namespace = get_text(metadata, "namespace")
        role = get_text(get_mapping(metadata, "labels"), POD_GROUP_ROLE_LABEL)
        for api_group, (_, field, key) in _MEMBERSHIP.items():
            name = get_text(get_mapping(metadata, str(field)), str(key))
            if name:
                pod_group = PodGroupName(api_group, name)
                yield LabeledPods(group.replica_type, namespace, pod_group, role, group.replicas)


def _iter_minimums(spec: Mapping[str, Any]) -> Iterator[MinimumMembers]:
    candidates: list[tuple[str, object, Path]] = [("", spec.get("minMember"), ("spec", "minMember"))]
    candidates += [
        (get_text(role, "name"), role.get("minMember"), ("spec", "roles", number, "minMember"))
        for number, role in get_entries(spec, "roles")
    ]
    return (
        MinimumMembers(role, number, path) for role, number, path in candidates if isinstance(number, int)
    )


@check(summarize=summarize_pod_groups)
def pod_group_never_full(
    summaries: Mapping[int, PodGroupSummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A PodGroup of the repository that waits for more Pods than name it.

    Values: ``group``, ``wanted``, ``pods``, how many there are.
    """
    pod_groups: dict[tuple[str, PodGroupName], list[tuple[int, tuple[MinimumMembers, ...]]]] = {}
    for number, summary in summaries.items():
        if summary.group is not None:
            pod_groups.setdefault(summary.group, []).append((number, summary.minimums))
    member_counts = _count_members(summaries) if pod_groups else {}
    for number, summary in summaries.items():
        if summary.job is None:
            continue
        for type_, name in dict.fromkeys((carried.type, carried.group) for carried in summary.labeled_pods):
            for group_number, minimums in pod_groups.get((summary.job.namespace, name), ()):
                for minimum in minimums:
                    pod_count = member_counts.get((summary.job.namespace, name, minimum.role), 0)
                    if minimum.minimum > pod_count:
                        pod_group_job = rebuild_job(group_number)
                        violation = _build_violation(
                            rebuild_job(number), type_, name, minimum, pod_count, pod_group_job
                        )
                        yield number, violation


def _build_violation(
    job: LoweredJob,
    type_: str,
    name: PodGroupName,
    minimum: MinimumMembers,
    pod_count: int,
    pod_group_job: LoweredJob,
) -> Violation:
    group = {group.replica_type: group for group in job.pods}[type_]
    path = _MEMBERSHIP[name.api_group]
    values = {
        "group": name.name,
        "wanted": format_count(minimum.minimum, f"{minimum.role} Pod".lstrip()),
        "pods": pod_count,
    }
    related = [(pod_group_job.groups[0].doc, minimum.path, "the minimum of the PodGroup")]
    return Violation(path, values, related=related, doc=group.doc, group=group)


def _count_members(
    summaries: Mapping[int, PodGroupSummary],
) -> dict[tuple[str, PodGroupName, str], int]:
    """How many Pods name a PodGroup, by namespace, PodGroup and role ("" for all roles).

    For variants of one job, the largest number counts.
    """
    largest: dict[tuple[tuple[str, PodGroupName, str], JobIdentity | int], int] = {}
    for number, summary in summaries.items():
        counts: dict[tuple[str, PodGroupName, str], int] = {}
        for _, namespace, group, role, count in summary.labeled_pods:
            for key in dict.fromkeys(((namespace, group, ""), (namespace, group, role))):
                counts[key] = counts.get(key, 0) + count
        identity = summary.job.identity if summary.job is not None else number
        for key, count in counts.items():
            largest[key, identity] = max(count, largest.get((key, identity), 0))
    totals: dict[tuple[str, PodGroupName, str], int] = {}
    for (key, _), count in largest.items():
        totals[key] = totals.get(key, 0) + count
    return totals


@check()
def pinned_to_node(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """Several Pods with GPUs that are all pinned to one node. Values: ``pods``, ``node``, ``gpus``."""
    group = target.group
    if (
        group is None
        or not count_gpus(group)
        or count_pods(target.job) < 2
        or is_mode_enabled(target.job, "debug")
    ):
        return
    name, selected = _find_pinned_node(group)
    if name or selected:
        pod_count, gpu_count = count_pods_and_gpus(_group_pods_by_node(target.job)[name, selected])
        path: Path = ("spec", "nodeName") if name else ("spec", "nodeSelector", "kubernetes.io/hostname")
        yield Violation(path, {"pods": pod_count, "node": name or selected, "gpus": gpu_count})


@cache_latest
def _group_pods_by_node(job: LoweredJob) -> Mapping[tuple[str, str], list[ReplicaGroup]]:
    """Group the Pods by the node that they are pinned to."""
    pods_by_node: dict[tuple[str, str], list[ReplicaGroup]] = {}
    for group in job.pods:
        pods_by_node.setdefault(_find_pinned_node(group), []).append(group)
    return pods_by_node


def _find_pinned_node(group: ReplicaGroup) -> tuple[str, str]:
    """Return the node that a Pod names, and the node that it selects by host name."""
    spec = get_mapping(group.doc.data, "spec")
    return get_text(spec, "nodeName"), get_text(get_mapping(spec, "nodeSelector"), "kubernetes.io/hostname")


@check()
def gang_without_launcher(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A gang that waits for a launcher which the operator creates only afterwards. Values: ``gang``,
    ``workers``, ``said``.

    ``minAvailable`` is the number of workers plus the launcher by default.
    Source: docs/evidence/mpi-operator.md.
    """
    job, spec = target.job, spec_of(target.job)
    policy = get_mapping(get_mapping(spec, "runPolicy"), "schedulingPolicy")
    creation = get_text(spec, "launcherCreationPolicy")
    if not policy or creation in ("", "AtStartup"):
        return
    workers = sum(group.replicas for group in job.pods if group.replica_type.lower() == "worker")
    written = policy.get("minAvailable")
    gang = written if isinstance(written, int) else workers + 1
    if 0 < workers < gang <= count_pods(job):
        path: Path = ("spec", "runPolicy", "schedulingPolicy")
        values = {
            "gang": gang,
            "said": "" if written is not None else " by default",
            "workers": format_count(workers, "worker"),
        }
        related = [(target.doc, ("spec", "launcherCreationPolicy"), "the launcher is created last")]
        yield Violation((*path, "minAvailable") if written is not None else path, values, related)


@check()
def gang_larger_than_job(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A gang that waits for more Pods than the job creates. Values: ``gang``, ``pods``."""
    job = target.job
    policy = get_mapping(get_mapping(spec_of(job), "runPolicy"), "schedulingPolicy")
    gang, most = policy.get("minAvailable"), get_mapping(spec_of(job), "elasticPolicy").get("maxReplicas")
    pods = count_pods(job)
    if isinstance(gang, int) and 0 < max(pods, most if isinstance(most, int) else 0) < gang:
        path = ("spec", "runPolicy", "schedulingPolicy", "minAvailable")
        values = {"gang": gang, "pods": format_count(pods, "Pod")}
        yield Violation(path, values, list_replica_places(job))
