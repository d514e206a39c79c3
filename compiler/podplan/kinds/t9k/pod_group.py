"""The effect of a t9kScheduler section: a PodGroup, and labels that assign its Pods to it."""

from __future__ import annotations

from podplan.core.provenance import Behavior, Cause, Cursor, apply_default, attribute_to
from podplan.core.replica_groups import ReplicaGroup, build_group
from podplan.core.typing import Any
from podplan.kinds.common.name_patterns import build_name_words, fill_pattern
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.child_metadata import build_child_metadata
from podplan.kinds.t9k.elastic import ElasticBounds
from podplan.kinds.t9k.job import JobContext, ReplicaType, is_paused


def is_gang_scheduled(job: JobContext) -> bool:
    """Whether t9k-scheduler schedules the job: the section exists, even if it is empty."""
    return _get_scheduler_section(job).exists


def build_scheduler_labels(job: JobContext, type_name: str = "") -> dict[str, Any]:
    """Return the labels of a Pod of the PodGroup; ``role`` is omitted if the controller sets none."""
    if not is_gang_scheduled(job):
        return {}
    behavior = behaviors.SCHEDULER_LABELS
    queue = _get_scheduler_section(job).get("queue")
    labels: dict[str, Any] = {
        "scheduler.tensorstack.dev/group-name": attribute_to(
            (behavior, *job.name_origins), _build_pod_group_name(job)
        ),
        "scheduler.tensorstack.dev/queue": apply_default(
            queue, job.options.resolve_behavior(behaviors.QUEUE)
        ),
    }
    if type_name:
        labels["scheduler.tensorstack.dev/role"] = attribute_to(
            (behavior, _get_scheduler_section(job)), type_name
        )
    return labels


def count_min_members(
    replica_types: list[ReplicaType],
    *,
    elastic_bounds: ElasticBounds | None = None,
    behavior: Behavior = behaviors.MIN_MEMBER,
) -> tuple[int, tuple[Cause, ...]]:
    """Return how many Pods the job needs to start, and the origins of the number."""
    if elastic_bounds is not None:
        return elastic_bounds.minimum, (*elastic_bounds.minimum_origins, behaviors.MIN_MEMBER_ELASTIC)
    replica_origins = tuple(why for role in replica_types for why in role.replica_origins)
    return sum(role.replicas for role in replica_types), (behavior, *replica_origins)


def build_pod_groups(
    job: JobContext, min_member: int, member_origins: tuple[Cause, ...]
) -> list[ReplicaGroup]:
    """Return the PodGroup of a scheduled job, as a list of one or none; a paused job has none."""
    if not is_gang_scheduled(job) or (
        is_paused(job) and not job.options.resolve_behavior(behaviors.POD_GROUP_PAUSED).value
    ):
        return []
    scheduler_section, api_version = (
        _get_scheduler_section(job),
        job.options.resolve_behavior(behaviors.POD_GROUP_API),
    )
    tree = attribute_to(
        (
            scheduler_section,
            job.options.first_configured(
                behaviors.POD_GROUP, *([behaviors.POD_GROUP_PAUSED] if is_paused(job) else [])
            ),
        ),
        {
            "apiVersion": attribute_to((api_version, scheduler_section), api_version.value),
            "kind": "PodGroup",
            "metadata": build_child_metadata(
                job,
                _build_pod_group_name(job),
                kind="PodGroup",
                name_origins=(
                    *job.name_origins,
                    job.options.first_configured(behaviors.POD_GROUP, behaviors.POD_GROUP_NAME),
                ),
                labels=job.labels,
            ),
            "spec": {
                "minMember": attribute_to(member_origins, min_member),
                "priority": apply_default(
                    scheduler_section.get("priority"), job.options.resolve_behavior(behaviors.PRIORITY)
                ),
                "queue": apply_default(
                    scheduler_section.get("queue"), job.options.resolve_behavior(behaviors.QUEUE)
                ),
            },
        },
    )
    return [build_group(tree)]


def _build_pod_group_name(job: JobContext) -> str:
    return str(
        fill_pattern(
            job.options.resolve_behavior(behaviors.POD_GROUP_NAME).value, build_name_words(job.name_words)
        )
    )


def _get_scheduler_section(job: JobContext) -> Cursor:
    return job.spec.get("scheduler", "t9kScheduler")
