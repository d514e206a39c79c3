"""The PodGroup of a TrainJob, by which a gang scheduler starts all of its Pods together."""

from __future__ import annotations

from podplan.core.provenance import Cause, attribute_to
from podplan.core.replica_groups import ReplicaGroup, build_group
from podplan.core.typing import Any
from podplan.kinds.common.merge import drop_absent, to_plain_data, unwrap_tree
from podplan.kinds.common.quantities import sum_quantities
from podplan.kinds.trainer import behaviors
from podplan.kinds.trainer.job import TrainJob, build_metadata
from podplan.kinds.trainer.job_set_template import TemplateJob

_DEFAULT_TIMEOUT = 60
QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"


def apply_policy(
    train_job: TrainJob, jobs: list[TemplateJob]
) -> tuple[list[TemplateJob], list[ReplicaGroup]]:
    """The jobs with what ties their Pods to the PodGroup, and the PodGroup."""
    policy = train_job.runtime.get("spec", "podGroupPolicy")
    if policy.get("coscheduling").exists:
        label = {"scheduling.x-k8s.io/pod-group": _name_group(train_job)}
        jobs = [one._replace(labels=label) for one in jobs]
        timeout = policy.get("coscheduling", "scheduleTimeoutSeconds")
        default = attribute_to((behaviors.POD_GROUP, policy), _DEFAULT_TIMEOUT)
        fields: dict[str, Any] = {"scheduleTimeoutSeconds": timeout if timeout.exists else default}
        return jobs, [_build(train_job, jobs, "scheduling.x-k8s.io/v1alpha1", fields)]
    if policy.get("volcano").exists:
        annotation = {"scheduling.k8s.io/group-name": _name_group(train_job)}
        jobs = [one._replace(annotations=annotation) for one in jobs]
        classes = [one.entry.get("template", "spec", "template", "spec", "priorityClassName") for one in jobs]
        fields = {
            "queue": train_job.template.get("metadata", "annotations", QUEUE_ANNOTATION),
            "priorityClassName": next((one for one in reversed(classes) if one.value), None),
            "networkTopology": policy.get("volcano", "networkTopology"),
        }
        return jobs, [_build(train_job, jobs, "scheduling.volcano.sh/v1beta1", fields)]
    return jobs, []


def _name_group(train_job: TrainJob) -> Any:
    return attribute_to((*train_job.name_causes, behaviors.POD_GROUP), train_job.name)


def _build(
    train_job: TrainJob, jobs: list[TemplateJob], api_version: str, fields: dict[str, Any]
) -> ReplicaGroup:
    causes: tuple[Cause, ...] = tuple(why for one in jobs for why in one.nodes.causes)
    amounts: dict[str, list[tuple[Any, int]]] = {}
    for job in jobs:
        pod = job.entry.get("template", "spec", "template", "spec")
        containers = pod.get("containers").entries() if train_job.version.sums_runtime else job.containers
        for container in containers:
            requests = to_plain_data(unwrap_tree(container).get("resources", {})) or {}
            for name, amount in (requests.get("requests") or {}).items():
                amounts.setdefault(name, []).append((amount, job.nodes.value))
    spec = {
        "minMember": attribute_to((*causes, behaviors.POD_GROUP), sum(one.nodes.value for one in jobs)),
        "minResources": attribute_to(
            (*causes, behaviors.POD_GROUP), {name: sum_quantities(one) for name, one in amounts.items()}
        ),
        **fields,
    }
    tree = {
        "apiVersion": api_version,
        "kind": "PodGroup",
        "metadata": build_metadata(train_job, train_job.name),
        "spec": drop_absent(spec),
    }
    policy = train_job.runtime.get("spec", "podGroupPolicy")
    return build_group(attribute_to((policy, behaviors.POD_GROUP), tree))
