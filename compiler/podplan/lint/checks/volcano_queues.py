"""Volcano queues in the repository: whether the queue of a gang exists, is open, and is large enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.replica_groups import ReplicaGroup
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.lint.analysis.features import CLUSTER
from podplan.lint.analysis.jobs import find_pod_group, format_list, namespace_of, queue_of
from podplan.lint.analysis.resources import format_amount
from podplan.lint.checks.gangs import sum_smallest_requests
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

if TYPE_CHECKING:
    from podplan.cluster.model import Cluster, VolcanoQueue

# Volcano creates these itself.
DEFAULT_QUEUE = "default"
OWN_QUEUES = (DEFAULT_QUEUE, "root")
# Examples in these folders are for clusters whose queue of that name has another capability.
_NAMESPACES_OF_EXAMPLES = ("", "default")


def is_of_volcano(gang: ReplicaGroup) -> bool:
    """Whether Volcano schedules a gang."""
    return str(gang.doc.data["apiVersion"]).startswith("scheduling.volcano.sh/")


def is_closed(queue: VolcanoQueue) -> bool:
    """Whether a queue takes no further jobs."""
    return queue.state in ("Closed", "Closing")


def list_clear_queues(cluster: Cluster) -> dict[str, VolcanoQueue]:
    """Return the queues that no two files define in different ways."""
    queues = cluster.volcano_queues.items()
    return {name: queue for name, queue in queues if ("Queue", "", name) not in cluster.ambiguous}


def iter_lineage(name: str, queues: Mapping[str, VolcanoQueue]) -> Iterator[VolcanoQueue]:
    """Yield a queue and its parents, each once."""
    seen: set[str] = set()
    while name in queues and name not in seen:
        seen.add(name)
        yield queues[name]
        name = queues[name].parent


@check(requires=(CLUSTER,))
def unusable_volcano_queue(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A queue of Volcano that does not exist or is closed. Values: ``queue``, ``why``."""
    gang, cluster = find_pod_group(target.job), target.job.cluster
    if gang is None or cluster is None or not cluster.volcano_queues or not is_of_volcano(gang):
        return
    queue, queues = queue_of(gang) or DEFAULT_QUEUE, cluster.volcano_queues
    if queue in queues:
        if ("Queue", "", queue) in cluster.ambiguous or not is_closed(queues[queue]):
            return
        why, place = f"is {queues[queue].state}", queues[queue].place
    elif queue in OWN_QUEUES:
        return
    else:
        known = suggest_phrase(queue, queues) or f", which has {format_list(sorted(queues), 8)}"
        why, place = f"is not in the repository{known}", next(iter(queues.values())).place
    related = [(place.doc, place.path, "a Queue of Volcano")]
    yield Violation(
        ("spec", "queue"), {"queue": queue, "why": why}, related=related, doc=gang.doc, group=gang
    )


@check(requires=(CLUSTER,))
def gang_over_capability(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A gang that requests more than the capability of its queue, or of a parent queue.

    Values: ``queue``, ``resource``, ``needs``, ``capability``, ``members``, ``sum``.
    """
    gang, cluster = find_pod_group(target.job), target.job.cluster
    if gang is None or cluster is None or not cluster.volcano_queues or not is_of_volcano(gang):
        return
    name = queue_of(gang) or DEFAULT_QUEUE
    if name == DEFAULT_QUEUE and namespace_of(target.job) in _NAMESPACES_OF_EXAMPLES:
        return
    members = gang.doc.data["spec"].get("minMember", 1)
    for queue in iter_lineage(name, list_clear_queues(cluster)):
        for resource, limit in queue.capability.items():
            requested, sum_text = sum_smallest_requests(target.job.pods, members, resource)
            if requested > limit:
                values = {
                    "queue": queue.name,
                    "resource": resource,
                    "needs": format_amount(requested, resource),
                    "capability": format_amount(limit, resource),
                    "members": members,
                    "sum": sum_text,
                }
                place = queue.place.get("spec", "capability", resource)
                related = [(place.doc, place.path, "the capability of the queue")]
                yield Violation(("spec", "minMember"), values, related=related, doc=gang.doc, group=gang)
