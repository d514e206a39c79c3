"""Gang scheduling: the PodGroup of a job, and the labels that connect its Pods with it."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.provenance import Cause, Cursor, Traced, attribute_to, present_causes
from podplan.core.replica_groups import ReplicaGroup, build_group
from podplan.core.typing import Any
from podplan.kinds.common.quantities import canonicalize_quantity, sum_quantities
from podplan.kinds.kubeflow import behaviors
from podplan.kinds.kubeflow.behaviors import NONE, VOLCANO
from podplan.kinds.kubeflow.job import Job, JobReplicaType, build_metadata

VOLCANO_API, PLUGINS_API = "scheduling.volcano.sh/v1beta1", "scheduling.x-k8s.io/v1alpha1"


def find_gang_scheduler(job: Job) -> str:
    """Return the gang scheduler of the operator: none, volcano or scheduler-plugins."""
    return str(job.options.resolve_behavior(behaviors.GANG_SCHEDULER).value)


def build_gang_labels(job: Job) -> dict[str, Traced]:
    """Build the label by which scheduler-plugins finds the PodGroup of a Pod."""
    if find_gang_scheduler(job) in (NONE, VOLCANO):
        return {}
    return {"scheduling.x-k8s.io/pod-group": attribute_to((_gang(job), *job.name_origins), job.name)}


def build_gang_annotations(job: Job, replica_type: JobReplicaType) -> dict[str, Traced]:
    """Build the annotations by which Volcano finds the PodGroup of a Pod."""
    if find_gang_scheduler(job) != VOLCANO:
        return {}
    return {
        "scheduling.k8s.io/group-name": attribute_to((_gang(job), *job.name_origins), job.name),
        "volcano.sh/task-spec": attribute_to((_gang(job), replica_type.entry), replica_type.label),
    }


def build_scheduler_name(job: Job, template_spec: Cursor) -> Traced | None:
    """Return the schedulerName that Pods get; None if the template has one, or without gang scheduling."""
    scheduler = find_gang_scheduler(job)
    if scheduler == NONE or template_spec.get("schedulerName").value:
        return None
    behavior = job.options.resolve_behavior(behaviors.SCHEDULER_NAME)
    if scheduler == VOLCANO:
        return attribute_to((_gang(job), template_spec), VOLCANO)
    return attribute_to(
        (job.options.first_configured(behaviors.SCHEDULER_NAME, behaviors.GANG_SCHEDULER), template_spec),
        behavior.value,
    )


def build_pod_groups(job: Job) -> list[ReplicaGroup]:
    """Build the PodGroup of a job, as a list of one or none."""
    scheduler = find_gang_scheduler(job)
    if scheduler == NONE:
        return []
    policy = job.spec.get("runPolicy", "schedulingPolicy")
    is_volcano = scheduler == VOLCANO
    member, member_origins = _count_members(job, policy)
    spec: dict[str, Any] = {
        "minMember": attribute_to(member_origins, member) if member else None,
        "minResources": _build_min_resources(job, policy, member),
    }
    if is_volcano:
        queue = policy.get("queue")
        default = attribute_to(present_causes(behaviors.VOLCANO_QUEUE, policy, job.spec), "default")
        spec["queue"] = queue if queue.value else default
        spec["priorityClassName"] = policy.get("priorityClass") if policy.get("priorityClass").value else None
    else:
        spec["scheduleTimeoutSeconds"] = policy.get("scheduleTimeoutSeconds")
    annotations = job.cr.get("metadata", "annotations")
    tree = attribute_to(
        (_gang(job), job.spec),
        {
            "apiVersion": VOLCANO_API if is_volcano else PLUGINS_API,
            "kind": "PodGroup",
            "metadata": build_metadata(
                job, job.name, annotations=annotations if annotations.exists else None
            ),
            "spec": {key: value for key, value in spec.items() if value is not None},
        },
    )
    return [build_group(tree)]


def _gang(job: Job) -> Cause:
    return job.options.first_configured(behaviors.POD_GROUP, behaviors.GANG_SCHEDULER)


def _count_members(job: Job, policy: Cursor) -> tuple[int, tuple[Cause, ...]]:
    minimum = policy.get("minAvailable")
    if minimum.exists:
        return minimum.value, (minimum, behaviors.MIN_MEMBER)
    return job.replica_count, (behaviors.MIN_MEMBER, *job.replica_origins)


def _build_min_resources(job: Job, policy: Cursor, member: int) -> Traced | None:
    written = policy.get("minResources")
    if written.exists:
        amounts = {name: canonicalize_quantity(one.value) for name, one in written.fields().items()}
        return attribute_to((written, behaviors.QUANTITY), amounts)
    by_resource: dict[str, list[tuple[Any, int]]] = {}
    causes: list[Cause] = []
    for replica_type, count in _iter_gang(job, member):
        for container in replica_type.template.get("spec", "containers").entries():
            resources = container.get("resources")
            amounts_field = (
                resources.get("requests") if resources.get("requests").exists else resources.get("limits")
            )
            for name, amount in amounts_field.fields().items():
                by_resource.setdefault(name, []).append((amount.value, count))
                causes.append(amount)
    if not by_resource:
        return None
    return attribute_to(
        (*causes, behaviors.MIN_RESOURCES),
        {name: sum_quantities(amounts) for name, amounts in by_resource.items()},
    )


def _iter_gang(job: Job, member: int) -> Iterator[tuple[JobReplicaType, int]]:
    """Yield the first ``member`` Pods by type. The operator iterates over the types in random order."""
    for replica_type in job.types:
        count = min(replica_type.replicas, member)
        if count > 0:
            yield replica_type, count
            member -= count
