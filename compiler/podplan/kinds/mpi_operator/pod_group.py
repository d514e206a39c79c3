"""Gang scheduling: the PodGroup of an MPIJob, and what ties its Pods to it."""

from __future__ import annotations

from podplan.core.provenance import Cause, Cursor, Traced, attribute_to
from podplan.core.replica_groups import ReplicaGroup, build_group
from podplan.core.typing import Any
from podplan.kinds.common.quantities import canonicalize_quantity, sum_quantities
from podplan.kinds.kubeflow.behaviors import GANG_SCHEDULER, NONE, QUANTITY, VOLCANO
from podplan.kinds.kubeflow.job import Job, build_metadata
from podplan.kinds.kubeflow.pod_group import PLUGINS_API, VOLCANO_API, find_gang_scheduler
from podplan.kinds.mpi_operator import behaviors
from podplan.kinds.mpi_operator.names import count_workers

_QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"


def build_gang_labels(job: Job) -> dict[str, Traced]:
    """The label by which scheduler-plugins finds the PodGroup of a Pod."""
    if find_gang_scheduler(job) in (NONE, VOLCANO):
        return {}
    return {"scheduling.x-k8s.io/pod-group": attribute_to((_gang(job), *job.name_origins), job.name)}


def build_gang_annotations(job: Job) -> dict[str, Traced]:
    """The annotation by which Volcano finds the PodGroup of a Pod."""
    if find_gang_scheduler(job) != VOLCANO:
        return {}
    return {"scheduling.k8s.io/group-name": attribute_to((_gang(job), *job.name_origins), job.name)}


def build_scheduler_name(job: Job, template_spec: Cursor) -> Traced | None:
    """The schedulerName that replaces the one of the template; None without a gang scheduler."""
    scheduler = find_gang_scheduler(job)
    if scheduler == NONE:
        return None
    overridden = (template_spec.get("schedulerName"),)
    if scheduler == VOLCANO:
        return attribute_to((_gang(job), template_spec), VOLCANO, overridden)
    cause = job.options.first_configured(behaviors.SCHEDULER_NAME, GANG_SCHEDULER)
    name = job.options.resolve_behavior(behaviors.SCHEDULER_NAME).value
    return attribute_to((cause, template_spec), name, overridden)


def build_pod_group(job: Job) -> list[ReplicaGroup]:
    """The PodGroup of a job, as a list of one or none."""
    scheduler = find_gang_scheduler(job)
    if scheduler == NONE:
        return []
    policy = job.spec.get("runPolicy", "schedulingPolicy")
    members, causes = _count_members(job, policy)
    spec: dict[str, Any] = {
        "minMember": attribute_to(causes, members) if members else None,
        "minResources": _build_min_resources(job, policy, members),
    }
    if scheduler == VOLCANO:
        spec["queue"] = _find_queue(job, policy)
        spec["priorityClassName"] = _find_priority_class(job, policy)
    else:
        timeout = policy.get("scheduleTimeoutSeconds")
        spec["scheduleTimeoutSeconds"] = timeout if timeout.exists else attribute_to((_gang(job), policy), 0)
    tree = attribute_to(
        (_gang(job), job.spec),
        {
            "apiVersion": VOLCANO_API if scheduler == VOLCANO else PLUGINS_API,
            "kind": "PodGroup",
            "metadata": build_metadata(
                job, job.name, name_behavior=behaviors.NAMES, owner_behavior=behaviors.OWNER
            ),
            "spec": {key: value for key, value in spec.items() if value is not None},
        },
    )
    return [build_group(tree)]


def _gang(job: Job) -> Cause:
    return job.options.first_configured(behaviors.POD_GROUP, GANG_SCHEDULER)


def _find_queue(job: Job, policy: Cursor) -> Any:
    if policy.get("queue").value:
        return policy.get("queue")
    annotation = job.cr.get("metadata", "annotations", _QUEUE_ANNOTATION)
    if not annotation.value:
        return None
    return attribute_to((annotation, behaviors.VOLCANO_QUEUE), annotation.value)


def _find_priority_class(job: Job, policy: Cursor) -> Cursor | None:
    """The PriorityClass of the gang: that of the job, of the launcher, or of the workers."""
    templates = [job.find_type(name) for name in ("Launcher", "Worker")]
    places = [one.template.get("spec", "priorityClassName") for one in templates if one is not None]
    return next((one for one in (policy.get("priorityClass"), *places) if one.value), None)


def _count_members(job: Job, policy: Cursor) -> tuple[int, tuple[Cause, ...]]:
    minimum = policy.get("minAvailable")
    if minimum.exists:
        return int(minimum.value), (minimum, behaviors.MIN_MEMBER)
    workers = job.find_type("Worker")
    return count_workers(job) + 1, (*(workers.replica_origins if workers else ()), behaviors.MIN_MEMBER)


def _build_min_resources(job: Job, policy: Cursor, members: int) -> Traced | None:
    written = policy.get("minResources")
    if written.exists:
        amounts = {name: canonicalize_quantity(one.value) for name, one in written.fields().items()}
        return attribute_to((written, QUANTITY), amounts)
    if members == 0:
        return None
    by_resource: dict[str, list[tuple[Any, int]]] = {}
    causes: list[Cause] = []
    is_cut = sum(one.pod_count for one in job.types) > members
    classes = {one.template.get("spec", "priorityClassName").value for one in job.types}
    if is_cut and len(classes) > 1:
        causes.append(behaviors.CUT_WORKERS)
    for replica_type in job.types:
        # The operator takes fewer of the type with the lower priority, and if both are equal fewer workers.
        count = members - 1 if is_cut and replica_type.name == "Worker" else replica_type.pod_count
        for container in replica_type.template.get("spec", "containers").entries():
            resources = container.get("resources")
            for name, amount in (
                resources.get("limits").fields() | resources.get("requests").fields()
            ).items():
                by_resource.setdefault(name, []).append((amount.value, count))
                causes.append(amount)
    if not by_resource:
        return None
    return attribute_to(
        (*causes, behaviors.MIN_RESOURCES),
        {name: sum_quantities(amounts) for name, amounts in by_resource.items()},
    )
