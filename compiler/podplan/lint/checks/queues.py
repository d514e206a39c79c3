"""Queues: that a job names one, and that the queue is for what the job asks."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import Doc, trace
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import entries, mapping, text, texts
from podplan.lint.analysis.cross_job import Again, named_place
from podplan.lint.analysis.inventory import absent, elsewhere, entry, is_for, section
from podplan.lint.analysis.jobs import Instance, named, namespace, pod_group, queue_of, shown_list, spec_of
from podplan.lint.analysis.resources import effective, shown
from podplan.lint.target import Hit, Job, Subject

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
    # Which priority a job has that gives none is documented in two ways
    # (docs/evidence/t9k-common.md#priority).
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


class Asked(NamedTuple):
    """What a job asks of a queue, with its number and file, and the quota, in 10⁻⁹ of a resource."""

    needs: int
    number: int
    file: str
    quota: int


def queue_oversubscribed(left: Mapping[int, Demand], again: Again) -> Iterator[tuple[int, Hit]]:
    """Jobs that together ask for more than the quota of their queue; said once, at the largest.

    Values: ``queue``, ``resource``, ``needs``, ``quota``, ``jobs``.
    """
    by_queue = _by_queue(left, _perhaps_over(left))
    for (queue, resource), asked in sorted(by_queue.items(), key=lambda item: item[1][0].number):
        needs = sum(one.needs for one in asked)
        if len(asked) > 1 and needs > asked[0].quota:
            values = {
                "queue": queue,
                "resource": resource,
                "needs": shown(needs, resource),
                "quota": shown(asked[0].quota, resource),
                "jobs": len(asked),
            }
            yield asked[0].number, _oversubscribed(values, asked, again)


def _oversubscribed(values: Mapping[str, Any], asked: list[Asked], again: Again) -> Hit:
    """At the queue of the job that asks for most, with the quota and the first of all that ask."""
    job, resource = again(asked[0].number), values["resource"]
    gang, inventory = pod_group(job), job.inventory
    assert gang is not None
    assert inventory is not None
    related: list[tuple[Doc, Path, str]] = [
        (inventory, ("spec", "queues", values["queue"], "quota", resource), "the quota of the queue")
    ]
    for one in asked[:5]:
        cr, at, name = named_place(again(one.number))
        related.append((cr, at, f"{name} asks for {shown(one.needs, resource)}"))
    about = {one.file for one in asked}
    return Hit(("spec", "queue"), values, related=related, doc=gang.doc, group=gang, about=about)


def _perhaps_over(left: Mapping[int, Demand]) -> list[tuple[str, str]]:
    """The queues and resources that are asked for more than their quota if every variant of a job counts.

    Of most queues it ends with these sums: only of the others is each job kept in mind.
    """
    sums: dict[tuple[str, str], int] = {}
    quotas: dict[tuple[str, str], int] = {}
    for one in left.values():
        for resource, needs, quota in one.asks:
            key = one.queue, resource
            sums[key] = sums.get(key, 0) + needs
            quotas[key] = min(quota, quotas.get(key, quota))
    return [key for key, needs in sums.items() if needs > quotas[key]]


def _by_queue(
    left: Mapping[int, Demand], wanted: Collection[tuple[str, str]]
) -> dict[tuple[str, str], list[Asked]]:
    """What jobs ask of the ``wanted`` queues and resources, largest first; of variants the largest."""
    largest: dict[tuple[str, str], dict[Instance, Asked]] = {key: {} for key in wanted}
    for number, one in left.items() if wanted else ():
        for resource, needs, quota in one.asks:
            of_queue = largest.get((one.queue, resource))
            if needs and of_queue is not None:
                former = of_queue.get(one.job)
                if former is None or needs > former.needs:
                    of_queue[one.job] = Asked(needs, number, one.file, quota)
    asking = {key: those.values() for key, those in largest.items() if those}
    return {key: sorted(those, key=lambda one: -one.needs) for key, those in asking.items()}
