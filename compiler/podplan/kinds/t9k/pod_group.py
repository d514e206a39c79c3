"""What a job with a t9kScheduler section gets: a PodGroup, and labels that put its Pods there."""

from __future__ import annotations

from podplan.core.provenance import Cursor, Fact, Why, at, default
from podplan.core.replica_groups import Group, group
from podplan.core.typing import Any
from podplan.kinds.common.name_patterns import filled, naming
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.child_metadata import metadata
from podplan.kinds.t9k.elastic import Bounds
from podplan.kinds.t9k.job import Job, Role, paused


def scheduled(job: Job) -> bool:
    """Whether the job is scheduled by t9k-scheduler: it has a section, even an empty one."""
    return _section(job).exists


def scheduler_labels(job: Job, role: str = "") -> dict[str, Any]:
    """The labels of a Pod of the PodGroup; ``role`` is left out where the controller sets none."""
    if not scheduled(job):
        return {}
    fact = behaviors.SCHEDULER_LABELS
    queue = _section(job).get("queue")
    labels: dict[str, Any] = {
        "scheduler.tensorstack.dev/group-name": at((fact, *job.name_why), _name(job)),
        "scheduler.tensorstack.dev/queue": default(queue, job.options.fact(behaviors.QUEUE)),
    }
    if role:
        labels["scheduler.tensorstack.dev/role"] = at((fact, _section(job)), role)
    return labels


def members(
    roles: list[Role], *, elastic: Bounds | None = None, fact: Fact = behaviors.MIN_MEMBER
) -> tuple[int, tuple[Why, ...]]:
    """How many Pods the job needs to start, and where the number comes from."""
    if elastic is not None:
        return elastic.least, (*elastic.least_why, behaviors.MIN_MEMBER_ELASTIC)
    counted = tuple(why for role in roles for why in role.counted)
    return sum(role.replicas for role in roles), (fact, *counted)


def pod_groups(job: Job, min_member: int, counted: tuple[Why, ...]) -> list[Group]:
    """The PodGroup of a scheduled job, as a list of one or none; a paused job has none."""
    if not scheduled(job) or (paused(job) and not job.options.fact(behaviors.POD_GROUP_PAUSED).value):
        return []
    section, version = _section(job), job.options.fact(behaviors.POD_GROUP_API)
    tree = at(
        (
            section,
            job.options.told(behaviors.POD_GROUP, *([behaviors.POD_GROUP_PAUSED] if paused(job) else [])),
        ),
        {
            "apiVersion": at((version, section), version.value),
            "kind": "PodGroup",
            "metadata": metadata(
                job,
                _name(job),
                kind="PodGroup",
                why=(*job.name_why, job.options.told(behaviors.POD_GROUP, behaviors.POD_GROUP_NAME)),
                labels=job.labels,
            ),
            "spec": {
                "minMember": at(counted, min_member),
                "priority": default(section.get("priority"), job.options.fact(behaviors.PRIORITY)),
                "queue": default(section.get("queue"), job.options.fact(behaviors.QUEUE)),
            },
        },
    )
    return [group(tree)]


def _name(job: Job) -> str:
    return str(filled(job.options.fact(behaviors.POD_GROUP_NAME).value, naming(job)))


def _section(job: Job) -> Cursor:
    return job.spec.get("scheduler", "t9kScheduler")
