"""Gangs: Pods that start together or not at all, and what keeps them from it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.replica_groups import Group
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.lint.analysis.cross_job import Again
from podplan.lint.analysis.inventory import entry
from podplan.lint.analysis.jobs import (
    Instance,
    Named,
    counted,
    gpu_pods,
    gpus,
    mode,
    named,
    pod_group,
    pods,
    queue_of,
    roles,
    strangers,
    total,
    written,
)
from podplan.lint.analysis.resources import effective, shown
from podplan.lint.target import Hit, Job, Subject, for_one

GROUP_LABEL = "scheduler.tensorstack.dev/group-name"
ROLE_LABEL = "scheduler.tensorstack.dev/role"
SECTION: Path = ("spec", "scheduler", "t9kScheduler")


def no_gang(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Several Pods with GPUs that know each other, and no PodGroup. Values: ``pods``, ``gpus``.

    No scheduler places a Pod that names its node.
    """
    job = subject.job
    if strangers(job):
        return
    with_gpus = [group for group in gpu_pods(job) if not _pinned(group)[0]]
    number, together = total(with_gpus)
    by_hand = any(GROUP_LABEL in mapping(group.doc.data["metadata"], "labels") for group in job.pods)
    if number > 1 and pod_group(job) is None and not by_hand:
        yield Hit(written(subject.data, *SECTION), {"pods": number, "gpus": together})


def other_scheduler(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A template that names another scheduler than the CR implies.

    Values: ``scheduler``, ``implied``, ``because``.
    """
    gang = pod_group(subject.job)
    for role in roles(subject.job):
        template = mapping(role.data, "template")
        named = text(mapping(template, "spec"), "schedulerName")
        at = (*role.path, "template", "spec", "schedulerName")
        because, implied = "", "t9k-scheduler"
        if gang is not None and named and named != implied:
            because = "spec.scheduler.t9kScheduler is there"
        elif gang is None and _in_gang_by_hand(template) and named != implied:
            because = f"the template puts the Pods into a PodGroup with the label {GROUP_LABEL}"
            at = written(subject.data, *at)
        if because:
            values = {"scheduler": named or "the default one", "implied": implied, "because": because}
            yield Hit(at, values)


def _in_gang_by_hand(template: Mapping[str, Any]) -> bool:
    return GROUP_LABEL in mapping(mapping(template, "metadata"), "labels")


def gang_over_quota(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A gang whose least Pods together ask for more than the quota of their queue.

    Values: ``queue``, ``resource``, ``needs``, ``quota``, ``members``, ``sum``: how the need comes about.
    """
    gang = pod_group(subject.job)
    if gang is None or subject.job.inventory is None:
        return
    queue, members = queue_of(gang), gang.doc.data["spec"]["minMember"]
    quota = mapping(entry(subject.job, "queues", queue), "quota")
    for resource, amount in quota.items():
        most = quantities.parse(amount)
        needs, how = _least(subject.job.pods, members, resource)
        if most is not None and needs > most:
            values = {
                "queue": queue,
                "resource": resource,
                "needs": shown(needs, resource),
                "quota": shown(most, resource),
                "members": members,
                "sum": how,
            }
            quota_at: Path = ("spec", "queues", queue, "quota", resource)
            related = [(subject.job.inventory, quota_at, "the quota of the queue")]
            yield Hit(("spec", "minMember"), values, related=related, doc=gang.doc, group=gang)


def _least(groups: list[Group], members: int, resource: str) -> tuple[int, str]:
    """What the ``members`` Pods that ask for least ask for together, in 10⁻⁹, and the sum as text."""
    left, by_size = members, dict[int, int]()
    for each, group in sorted(((effective(g, resource), g) for g in groups), key=lambda pair: pair[0]):
        number = min(left, group.replicas)
        if number <= 0:
            continue
        left -= number
        by_size[each] = by_size.get(each, 0) + number
    terms = [f"{number} × {shown(each, resource)}" for each, number in by_size.items() if each]
    return sum(each * number for each, number in by_size.items()), " + ".join(terms)


class Wanted(NamedTuple):
    """As many Pods as a PodGroup waits for, of a role ("" for all), and where in the PodGroup that stands."""

    role: str
    number: int
    path: Path


class Carried(NamedTuple):
    """Pods of a replica type that carry the label of a PodGroup, and the label of a role in it."""

    type: str
    namespace: str
    group: str
    role: str
    pods: int


class Members(NamedTuple):
    """What a job, or an object, has to do with the PodGroups that somebody wrote.

    ``job`` is None for an object. ``group`` is the namespace and name of an object that is a PodGroup.
    """

    job: Named | None
    carried: tuple[Carried, ...] = ()
    group: tuple[str, str] | None = None
    wants: tuple[Wanted, ...] = ()

    @property
    def keys(self) -> set[Hashable]:
        if self.group is not None:
            return {self.group}
        places = [one.namespace for one in self.carried]
        if self.job is not None:  # a Pod that somebody wrote is of no job
            places.append(self.job.namespace)
        return {(where, one.group) for where in places for one in self.carried}

    @property
    def party(self) -> Hashable:
        return "jobs" if self.group is None else "PodGroup"


def members_left(job: Job) -> Members | None:
    """The PodGroups of a job or an object; None where it has nothing to do with any that somebody wrote."""
    gang = pod_group(job) if job.cr is None else None
    if gang is not None:
        metadata = mapping(gang.doc.data, "metadata")
        group = text(metadata, "namespace"), text(metadata, "name")
        return Members(None, (), group, tuple(_wanted(mapping(gang.doc.data, "spec"))))
    carried = tuple(_carried(job))
    return Members(named(job) if job.cr is not None else None, carried) if carried else None


def _carried(job: Job) -> Iterator[Carried]:
    for group in job.pods:
        metadata = mapping(group.doc.data, "metadata")
        labels = mapping(metadata, "labels")
        if text(labels, GROUP_LABEL):
            where, role = text(metadata, "namespace"), text(labels, ROLE_LABEL)
            yield Carried(group.role, where, text(labels, GROUP_LABEL), role, group.replicas)


def _wanted(spec: Mapping[str, Any]) -> Iterator[Wanted]:
    wanted: list[tuple[str, object, Path]] = [("", spec.get("minMember"), ("spec", "minMember"))]
    wanted += [
        (text(role, "name"), role.get("minMember"), ("spec", "roles", number, "minMember"))
        for number, role in entries(spec, "roles")
    ]
    return (Wanted(role, number, path) for role, number, path in wanted if isinstance(number, int))


def pod_group_never_full(left: Mapping[int, Members], again: Again) -> Iterator[tuple[int, Hit]]:
    """Pods in a PodGroup of the repository that wants more of them than there are.

    Values: ``group``, ``wanted``, ``pods``, how many there are.
    """
    by_hand: dict[tuple[str, str], list[tuple[int, tuple[Wanted, ...]]]] = {}
    for number, one in left.items():
        if one.group is not None:
            by_hand.setdefault(one.group, []).append((number, one.wants))
    members = _members(left) if by_hand else {}
    for number, one in left.items():
        if one.job is None:
            continue
        for type_, label in {carried.type: carried.group for carried in one.carried}.items():
            for other, wants in by_hand.get((one.job.namespace, label), ()):
                for wanted in wants:
                    there = members.get((one.job.namespace, label, wanted.role), 0)
                    if wanted.number > there:
                        yield number, _never_full(again(number), type_, wanted, there, again(other))


def _never_full(job: Job, type_: str, wanted: Wanted, there: int, by_hand: Job) -> Hit:
    group = {group.role: group for group in job.pods}[type_]
    path: Path = ("metadata", "labels", GROUP_LABEL)
    values = {
        "group": group.doc.data["metadata"]["labels"][GROUP_LABEL],
        "wanted": counted(wanted.number, f"{wanted.role} Pod".lstrip()),
        "pods": there,
    }
    related = [(by_hand.groups[0].doc, wanted.path, "what the PodGroup wants")]
    return Hit(path, values, related=related, doc=group.doc, group=group)


def _members(left: Mapping[int, Members]) -> dict[tuple[str, str, str], int]:
    """How many Pods carry the label of a PodGroup, by namespace, PodGroup and role ("" for all roles).

    Of a job's variants the one with most counts.
    """
    largest: dict[tuple[tuple[str, str, str], Instance | int], int] = {}
    for number, one in left.items():
        here: dict[tuple[str, str, str], int] = {}
        for _, where, group, role, count in one.carried:
            for key in dict.fromkeys(((where, group, ""), (where, group, role))):
                here[key] = here.get(key, 0) + count
        which = one.job.instance if one.job is not None else number
        for key, count in here.items():
            largest[key, which] = max(count, largest.get((key, which), 0))
    members: dict[tuple[str, str, str], int] = {}
    for (key, _), count in largest.items():
        members[key] = members.get(key, 0) + count
    return members


def pinned_to_node(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Several Pods with GPUs that may all run on one node only. Values: ``pods``, ``node``, ``gpus``."""
    group = subject.group
    if group is None or not gpus(group) or pods(subject.job) < 2 or mode(subject.job, "debug"):
        return
    name, selected = _pinned(group)
    if name or selected:
        number, together = total(_by_node(subject.job)[name, selected])
        at: Path = ("spec", "nodeName") if name else ("spec", "nodeSelector", "kubernetes.io/hostname")
        yield Hit(at, {"pods": number, "node": name or selected, "gpus": together})


@for_one
def _by_node(job: Job) -> Mapping[tuple[str, str], list[Group]]:
    """The Pods by the node that they are for."""
    found: dict[tuple[str, str], list[Group]] = {}
    for group in job.pods:
        found.setdefault(_pinned(group), []).append(group)
    return found


def _pinned(group: Group) -> tuple[str, str]:
    """The node that a Pod names, and the one that it selects by host name."""
    spec = mapping(group.doc.data, "spec")
    return text(spec, "nodeName"), text(mapping(spec, "nodeSelector"), "kubernetes.io/hostname")
