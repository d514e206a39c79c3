"""Queues: that a job names one, and that the queue is for what the job asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.findings import Path
from podplan.kubernetes import quantities
from podplan.kubernetes.shape import entries, mapping, text, texts
from podplan.lint.checks._inventory import absent, elsewhere, entry, is_for, section
from podplan.lint.checks._jobs import (
    called,
    for_all,
    instance,
    namespace,
    pod_group,
    queue_of,
    shown_list,
    spec_of,
    written,
)
from podplan.lint.checks._resources import effective, resources, shown
from podplan.lint.subject import Hit, Job, Subject
from podplan.provenance import Doc
from podplan.typing import Any

DURATION = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def unknown_queue(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A queue that the inventory does not have, or not for the namespace. Values: ``queue``, ``why``."""
    gang, job = pod_group(subject.job), subject.job
    known = section(job, "queues")
    if gang is None or not known:
        return
    queue, where = queue_of(gang), namespace(job)
    allowed = entry(job, "namespaces", where).get("queues")
    if queue not in known:
        why = absent(queue, known, 8)
    elif not is_for(entry(job, "queues", queue), where):
        why = f'is for {elsewhere(entry(job, "queues", queue))}, not for "{where}"'
    elif isinstance(allowed, list) and allowed and queue not in allowed:
        why = (
            f'may not be used in the namespace "{where}", which has {shown_list(list(map(str, allowed)), 8)}'
        )
    else:
        return
    yield Hit(("spec", "queue"), {"queue": queue, "why": why}, doc=gang.doc, group=gang)


def priority_out_of_bounds(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A priority that the queue does not allow. Values: ``priority``, ``queue``, ``least``, ``most``."""
    gang, job = pod_group(subject.job), subject.job
    if gang is None or job.inventory is None:
        return
    # Which priority a job has that gives none is documented in two ways (t9k-semantics §1.2).
    asked = mapping(mapping(spec_of(job), "scheduler"), "t9kScheduler")
    queue, priority = queue_of(gang), asked.get("priority")
    bounds = mapping(entry(job, "queues", queue), "priority")
    least, most = bounds.get("min", 0), bounds.get("max", 100)
    if not bounds or not all(isinstance(one, int) for one in (priority, least, most)):
        return
    if least <= priority <= most:
        return
    values = {"priority": priority, "queue": queue, "least": least, "most": most}
    related = [(job.inventory, ("spec", "queues", queue, "priority"), "the priorities of the queue")]
    yield Hit(("spec", "priority"), values, related=related, doc=gang.doc, group=gang)


def hardware_not_in_queue(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A hardware class of the profile that the queue does not serve.

    Values: ``hardware``, ``queue``, ``serves``, what the queue serves.
    """
    gang, job = pod_group(subject.job), subject.job
    if gang is None or job.profile is None or job.inventory is None:
        return
    queue = queue_of(gang)
    serves = [name for _, name in texts(entry(job, "queues", queue), "hardware")]
    spec = mapping(job.profile.data, "spec")
    asked: list[tuple[Path, str]] = [(("spec", "hardware"), text(spec, "hardware"))]
    asked += [
        (("spec", "roles", number, "hardware"), text(role, "hardware"))
        for number, role in entries(spec, "roles")
    ]
    for path, name in asked:
        if serves and name and name not in serves:
            values = {"hardware": name, "queue": queue, "serves": shown_list(serves, 8)}
            related = [(job.inventory, ("spec", "queues", queue, "hardware"), "what the queue serves")]
            yield Hit(path, values, related=related, doc=job.profile)


def deadline_beyond_queue(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A deadline later than the time after which the queue pauses a job.

    Values: ``deadline`` and ``most`` in hours, ``queue``.
    """
    gang, inventory = pod_group(subject.job), subject.job.inventory
    deadline = mapping(spec_of(subject.job), "runPolicy").get("activeDeadlineSeconds")
    if gang is None or inventory is None or not isinstance(deadline, int):
        return
    queue = queue_of(gang)
    most = _seconds(text(entry(subject.job, "queues", queue), "maxDuration"))
    if most and deadline > most:
        values = {"deadline": f"{deadline / 3600:.4g}", "most": f"{most / 3600:.4g}", "queue": queue}
        at: Path = ("spec", "queues", queue, "maxDuration")
        related = [(inventory, at, "how long a job may run in the queue")]
        yield Hit(("spec", "runPolicy", "activeDeadlineSeconds"), values, related=related)


def _seconds(duration: str) -> int:
    seconds, digits = 0, ""
    for letter in duration:
        if letter in DURATION:
            seconds += int(digits or 0) * DURATION[letter]
            digits = ""
        else:
            digits += letter
    return seconds


def queue_oversubscribed(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Jobs that together ask for more than the quota of their queue; said once, at the largest.

    Values: ``queue``, ``resource``, ``needs``, ``quota``, ``jobs``.
    """
    gang, inventory = pod_group(subject.job), subject.job.inventory
    if gang is None or inventory is None:
        return
    queue = queue_of(gang)
    for resource, amount in mapping(entry(subject.job, "queues", queue), "quota").items():
        most = quantities.parse(amount)
        demands = _by_queue(subject.jobs).get((queue, resource), [])
        needs = sum(demand for demand, _ in demands)
        if most is None or len(demands) < 2 or needs <= most or demands[0][1] is not subject.job:
            continue
        values = {
            "queue": queue,
            "resource": resource,
            "needs": shown(needs, resource),
            "quota": shown(most, resource),
            "jobs": len(demands),
        }
        related: list[tuple[Doc, Path, str]] = [
            (inventory, ("spec", "queues", queue, "quota", resource), "the quota of the queue")
        ]
        for demand, job in demands[:5]:
            if job.cr is not None:
                at = written(job.cr.data, "metadata", "name")
                related.append((job.cr, at, f"{called(job)} asks for {shown(demand, resource)}"))
        about = [job for _, job in demands]
        yield Hit(("spec", "queue"), values, related=related, doc=gang.doc, group=gang, about=about)


@for_all
def _by_queue(jobs: tuple[Job, ...]) -> dict[tuple[str, str], list[tuple[int, Job]]]:
    """What each job asks for, largest first, by queue and resource; of a job's variants the largest."""
    largest: dict[tuple[str, str, object], tuple[int, Job]] = {}
    for job in jobs:
        gang = pod_group(job)
        if gang is None or job.cr is None:
            continue
        for resource in {name for group in job.pods for name in resources(group)}:
            demand = sum(effective(group, resource) * group.replicas for group in job.pods)
            key = (queue_of(gang), resource, instance(job))
            if demand and (key not in largest or demand > largest[key][0]):
                largest[key] = demand, job
    demands: dict[tuple[str, str], list[tuple[int, Job]]] = {}
    for (queue, resource, _), found in largest.items():
        demands.setdefault((queue, resource), []).append(found)
    for found_all in demands.values():
        found_all.sort(key=lambda pair: -pair[0])
    return demands
