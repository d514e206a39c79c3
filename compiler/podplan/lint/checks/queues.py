"""Queues: that a job names one, and that the queue is for what the job asks."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping

from podplan.findings import Path
from podplan.kubernetes import quantities
from podplan.kubernetes.shape import entries, mapping, text, texts
from podplan.lint.checks._inventory import absent, elsewhere, entry, is_for, section
from podplan.lint.checks._jobs import (
    Instance,
    named,
    namespace,
    pod_group,
    queue_of,
    shown_list,
    spec_of,
)
from podplan.lint.checks._resources import effective, shown
from podplan.lint.checks._together import Again, named_place
from podplan.lint.subject import Hit, Job, Subject
from podplan.provenance import Doc, trace
from podplan.typing import Any, NamedTuple

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


class Ask(NamedTuple):
    """What a job asks of its queue and the quota that its inventory has for that, in 10⁻⁹ of a resource."""

    resource: str
    needs: int
    quota: int


class Demand(NamedTuple):
    """What a job asks of its queue, and the file that the job is written in."""

    job: Instance
    file: str
    queue: str
    asks: tuple[Ask, ...]

    @property
    def keys(self) -> list[Hashable]:
        return [self.queue]

    @property
    def party(self) -> Hashable:
        return self.job


def demand_left(job: Job) -> Demand | None:
    """What a job asks of its queue; None for an object, and a job that is in none or in one without quota."""
    gang = pod_group(job)
    if job.cr is None or gang is None:
        return None
    queue = queue_of(gang)
    asks = tuple(
        Ask(resource, sum(effective(group, resource) * group.replicas for group in job.pods), most)
        for resource, written in mapping(entry(job, "queues", queue), "quota").items()
        if (most := quantities.parse(written)) is not None
    )
    if not asks:
        return None
    source = trace(job.cr, ())[-1].doc.source
    return Demand(named(job).instance, source.file if source is not None else "", queue, asks)


def queue_oversubscribed(left: Mapping[int, Demand], again: Again) -> Iterator[tuple[int, Hit]]:
    """Jobs that together ask for more than the quota of their queue; said once, at the largest.

    Values: ``queue``, ``resource``, ``needs``, ``quota``, ``jobs``.
    """
    by_queue = _by_queue(left)
    for number, one in left.items():
        for resource, _, most in one.asks:
            demands = by_queue.get((one.queue, resource), [])
            needs = sum(demand for demand, _ in demands) if demands[:1] and demands[0][1] == number else 0
            if len(demands) > 1 and needs > most:
                values = {
                    "queue": one.queue,
                    "resource": resource,
                    "needs": shown(needs, resource),
                    "quota": shown(most, resource),
                    "jobs": len(demands),
                }
                about = {left[other].file for _, other in demands}
                yield number, _oversubscribed(values, demands, about, again)


def _oversubscribed(
    values: Mapping[str, Any], demands: list[tuple[int, int]], about: Iterable[str], again: Again
) -> Hit:
    """At the queue of the job that asks for most, with the quota and the first of all that ask."""
    job, resource = again(demands[0][1]), values["resource"]
    gang, inventory = pod_group(job), job.inventory
    assert gang is not None
    assert inventory is not None
    related: list[tuple[Doc, Path, str]] = [
        (inventory, ("spec", "queues", values["queue"], "quota", resource), "the quota of the queue")
    ]
    for demand, number in demands[:5]:
        cr, at, name = named_place(again(number))
        related.append((cr, at, f"{name} asks for {shown(demand, resource)}"))
    return Hit(("spec", "queue"), values, related=related, doc=gang.doc, group=gang, about=about)


def _by_queue(left: Mapping[int, Demand]) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """What jobs ask for with their numbers, largest first, by queue and resource; of variants the largest."""
    largest: dict[tuple[str, str, Instance], tuple[int, int]] = {}
    for number, one in left.items():
        for resource, demand, _ in one.asks:
            key = (one.queue, resource, one.job)
            if demand and (key not in largest or demand > largest[key][0]):
                largest[key] = demand, number
    demands: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for (queue, resource, _), found in largest.items():
        demands.setdefault((queue, resource), []).append(found)
    for found_all in demands.values():
        found_all.sort(key=lambda pair: -pair[0])
    return demands
