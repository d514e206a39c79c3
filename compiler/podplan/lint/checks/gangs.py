"""Gangs: Pods that start together or not at all, and what keeps them from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.findings import Path
from podplan.groups import Group
from podplan.kubernetes import quantities
from podplan.kubernetes.shape import entries, mapping, text
from podplan.lint.checks._inventory import entry
from podplan.lint.checks._jobs import (
    counted,
    for_all,
    gpu_pods,
    gpus,
    instance,
    mode,
    namespace,
    pod_group,
    pods,
    queue_of,
    roles,
    strangers,
    total,
    written,
)
from podplan.lint.checks._resources import effective, shown
from podplan.lint.subject import Hit, Job, Subject
from podplan.typing import Any

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


def pod_group_never_full(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Pods in a PodGroup of the repository that wants more of them than there are.

    Values: ``group``, ``wanted``, ``pods``, how many there are.
    """
    for group in {group.role: group for group in subject.job.pods}.values():
        label = text(mapping(group.doc.data["metadata"], "labels"), GROUP_LABEL)
        for by_hand in _by_hand(subject.jobs).get((namespace(subject.job), label), []):
            spec = mapping(by_hand.doc.data, "spec")
            wanted: list[tuple[str, object, Path]] = [("", spec.get("minMember"), ("spec", "minMember"))]
            wanted += [
                (text(role, "name"), role.get("minMember"), ("spec", "roles", number, "minMember"))
                for number, role in entries(spec, "roles")
            ]
            for role, number, at in wanted:
                there = _members(subject.jobs).get((namespace(subject.job), label, role), 0)
                if isinstance(number, int) and number > there:
                    wants = counted(number, f"{role} Pod".lstrip())
                    values = {"group": label, "wanted": wants, "pods": there}
                    path: Path = ("metadata", "labels", GROUP_LABEL)
                    related = [(by_hand.doc, at, "what the PodGroup wants")]
                    yield Hit(path, values, related=related, doc=group.doc, group=group)


@for_all
def _by_hand(jobs: tuple[Job, ...]) -> dict[tuple[str, str], list[Group]]:
    """The PodGroups that somebody wrote, by namespace and name."""
    found: dict[tuple[str, str], list[Group]] = {}
    for job in jobs:
        gang = pod_group(job) if job.cr is None else None
        if gang is not None:
            metadata = gang.doc.data["metadata"]
            found.setdefault((text(metadata, "namespace"), text(metadata, "name")), []).append(gang)
    return found


@for_all
def _members(jobs: tuple[Job, ...]) -> dict[tuple[str, str, str], int]:
    """How many Pods carry the label of a PodGroup, by namespace, PodGroup and role ("" for all roles)."""
    largest: dict[tuple[str, str, str, object], int] = {}
    for number, job in enumerate(jobs):
        here: dict[tuple[str, str, str], int] = {}
        for group in job.pods:
            metadata = group.doc.data["metadata"]
            labels = mapping(metadata, "labels")
            where, name = text(metadata, "namespace"), text(labels, GROUP_LABEL)
            for role in dict.fromkeys(("", text(labels, ROLE_LABEL))) if name else ():
                here[where, name, role] = here.get((where, name, role), 0) + group.replicas
        which = instance(job) if job.cr is not None else number
        for (where, name, role), count in here.items():
            key = (where, name, role, which)
            largest[key] = max(count, largest.get(key, 0))
    members: dict[tuple[str, str, str], int] = {}
    for (where, name, role, _), count in largest.items():
        members[where, name, role] = members.get((where, name, role), 0) + count
    return members


def pinned_to_node(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Several Pods with GPUs that may all run on one node only. Values: ``pods``, ``node``, ``gpus``."""
    group = subject.group
    if group is None or not gpus(group) or pods(subject.job) < 2 or mode(subject.job, "debug"):
        return
    name, selected = _pinned(group)
    if name or selected:
        here = [one for one in subject.job.pods if _pinned(one) == (name, selected)]
        number, together = total(here)
        at: Path = ("spec", "nodeName") if name else ("spec", "nodeSelector", "kubernetes.io/hostname")
        yield Hit(at, {"pods": number, "node": name or selected, "gpus": together})


def _pinned(group: Group) -> tuple[str, str]:
    """The node that a Pod names, and the one that it selects by host name."""
    spec = mapping(group.doc.data, "spec")
    return text(spec, "nodeName"), text(mapping(spec, "nodeSelector"), "kubernetes.io/hostname")
