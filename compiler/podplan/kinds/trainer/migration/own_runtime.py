"""What a PyTorchJob needs of a runtime, and the runtime of its own if none of the repository fits."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import value_at
from podplan.core.typing import Any
from podplan.kinds.batch.pod_defaults import is_latest
from podplan.kinds.conversion import Copied, Decision, Replaced
from podplan.kinds.kubeflow import behaviors as operator_behaviors
from podplan.kinds.kubeflow.pytorch_job.constants import KIND
from podplan.kinds.trainer.job_set_template import ANCESTOR_LABEL, NODE, TRAINER_STEP
from podplan.kinds.trainer.migration.runtimes import (
    CONTAINER_PATCHES,
    NAMESPACED_KIND,
    POD_PATCHES,
    TRAINER_FIELDS,
    Needs,
)
from podplan.kinds.trainer.migration.source_job import SourceJob, list_own_ports
from podplan.kinds.trainer.pod_group import QUEUE_ANNOTATION

API_VERSION = "trainer.kubeflow.org/v1alpha1"
# What the API server sets in Pods anyway: docs/evidence/jobset.md#defaults-of-a-pod-template.
_POD_DEFAULTS = {"dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler"}
_CONTAINER_DEFAULTS = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_RETRIED_FROM = 128  # the first exit code after which ExitCode restarts


def find_needs(job: SourceJob, decisions: list[Decision]) -> Needs:
    """What a TrainJob cannot state, as data."""
    pod = value_at(job.cr, job.pod_path)
    container = job.container
    dropped = ("containers", "initContainers", "restartPolicy", *POD_PATCHES)
    restart = "Never" if job.restart_policy in ("Never", "ExitCode") else "OnFailure"
    own_ports = list_own_ports(container)
    group = _build_pod_group_policy(job)
    if pod.get("restartPolicy") is not None:
        text = "restartPolicy of the template had no effect: that of the replica type counts"
        decisions.append(Decision((*job.pod_path, "restartPolicy"), "same", text))
    if job.restart_policy == "Always":
        text = (
            "restartPolicy Always becomes OnFailure, as a Job allows no other: a process that ends with 0"
            " stays ended"
        )
        decisions.append(Decision((*job.path, "restartPolicy"), "changed", text))
    for at, one in enumerate(pod["containers"]):
        if at != job.container_index:
            text = f"the container {one.get('name')} gets no variables of the controller any more"
            decisions.append(Decision((*job.pod_path, "containers", at), "changed", text))
    return Needs(
        _build_job_fields(job),
        {
            "restartPolicy": restart,
            **{
                key: value
                for key, value in pod.items()
                if key not in dropped and _POD_DEFAULTS.get(key) != value
            },
            **_build_gang_fields(job, group),
        },
        {
            **{
                key: value
                for key, value in container.items()
                if key not in TRAINER_FIELDS
                and key not in CONTAINER_PATCHES
                and _find_container_default(key, container) != value
            },
            **({"ports": [container["ports"][at] for at in own_ports]} if own_ports else {}),
        },
        [one for at, one in enumerate(pod["containers"]) if at != job.container_index],
        pod.get("initContainers") or [],
        {key: container.get(key) for key in ("command", "args", "resources")},
        group,
    )


def _find_container_default(field: str, container: Mapping[str, Any]) -> Any:
    """What the API server sets for a field of a container that does not state it."""
    if field == "imagePullPolicy":
        return "Always" if is_latest(container.get("image")) else "IfNotPresent"
    return _CONTAINER_DEFAULTS.get(field)


def _build_job_fields(job: SourceJob) -> dict[str, Any]:
    """The fields of the Job that stand for the restart policy."""
    if job.restart_policy == "Never":
        return {"backoffLimit": 0}
    if job.restart_policy != "ExitCode":
        return {}
    codes = {"containerName": NODE, "operator": "In", "values": list(range(1, _RETRIED_FROM))}
    return {"podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": codes}]}}


def _find_gang_scheduler(job: SourceJob) -> str:
    options = job.source.options._replace(kind=KIND.name, group="kubeflow.org")
    return str(options.resolve_behavior(operator_behaviors.GANG_SCHEDULER).value)


def _build_pod_group_policy(job: SourceJob) -> dict[str, Any]:
    scheduler = _find_gang_scheduler(job)
    if scheduler == operator_behaviors.NONE:
        return {}
    if scheduler == operator_behaviors.VOLCANO:
        return {"volcano": {}}
    timeout = (job.policy.get("schedulingPolicy") or {}).get("scheduleTimeoutSeconds")
    return {"coscheduling": {"scheduleTimeoutSeconds": timeout} if timeout is not None else {}}


def _build_gang_fields(job: SourceJob, group: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the Pod that the operator sets for its gang scheduler, and Trainer does not."""
    if not group:
        return {}
    pod = value_at(job.cr, job.pod_path)
    options = job.source.options._replace(kind=KIND.name, group="kubeflow.org")
    name = options.resolve_behavior(operator_behaviors.SCHEDULER_NAME).value
    scheduler = "volcano" if "volcano" in group else str(name)
    fields = {"schedulerName": pod.get("schedulerName") or scheduler}
    priority = (job.policy.get("schedulingPolicy") or {}).get("priorityClass")
    if priority and "volcano" in group:
        fields["priorityClassName"] = priority
    return fields


def find_volcano_queue(job: SourceJob) -> str:
    if _find_gang_scheduler(job) != operator_behaviors.VOLCANO:
        return ""
    return str((job.policy.get("schedulingPolicy") or {}).get("queue") or "default")


def build_runtime(job: SourceJob, needs: Needs, name: str, queue: str) -> dict[str, Any]:
    """A runtime with all that the job states of its Pods, except what its TrainJob states."""
    pod, container = value_at(job.cr, job.pod_path), job.container
    template_metadata = value_at(job.cr, job.template_path).get("metadata")
    node: dict[str, Any] = {"name": NODE, "image": container.get("image")}
    for key in container:
        if key == "ports" and (own_ports := list_own_ports(container)):
            node[key] = [Copied((*job.container_path, key, at)) for at in own_ports]
        elif key not in TRAINER_FIELDS and key != "env":
            node[key] = Copied((*job.container_path, key))
    containers = [
        node if at == job.container_index else Copied((*job.pod_path, "containers", at))
        for at in range(len(pod["containers"]))
    ]
    pod_spec: dict[str, Any] = {
        key: Copied((*job.pod_path, key)) for key in pod if key not in ("containers", "restartPolicy")
    }
    pod_spec |= {key: value for key, value in needs.pod.items() if key not in pod or key == "restartPolicy"}
    restart_path = (*job.path, "restartPolicy")
    pod_spec["restartPolicy"] = Replaced(restart_path, needs.pod["restartPolicy"])
    pod_template: dict[str, Any] = {"spec": {**pod_spec, "containers": containers}}
    if template_metadata:
        pod_template = {"metadata": Copied((*job.template_path, "metadata")), **pod_template}
    job_spec: dict[str, Any] = dict(needs.job)
    if job.policy.get("backoffLimit") is not None and "backoffLimit" not in job_spec:
        job_spec["backoffLimit"] = Copied(("spec", "runPolicy", "backoffLimit"))
    job_set: dict[str, Any] = {}
    if job.policy.get("ttlSecondsAfterFinished"):
        job_set["ttlSecondsAfterFinished"] = Copied(("spec", "runPolicy", "ttlSecondsAfterFinished"))
    job_set["replicatedJobs"] = [
        {
            "name": NODE,
            "template": {
                "metadata": {"labels": {ANCESTOR_LABEL: TRAINER_STEP}},
                "spec": {**job_spec, "template": pod_template},
            },
        }
    ]
    template: dict[str, Any] = {"spec": job_set}
    if queue:
        template = {"metadata": {"annotations": {QUEUE_ANNOTATION: queue}}, **template}
    metadata: dict[str, Any] = {"name": name}
    if job.namespace:
        metadata["namespace"] = job.namespace
    metadata["labels"] = {"trainer.kubeflow.org/framework": "torch"}
    return {
        "apiVersion": API_VERSION,
        "kind": NAMESPACED_KIND,
        "metadata": metadata,
        "spec": {
            "mlPolicy": {"numNodes": 1, "torch": {}},
            **({"podGroupPolicy": dict(needs.pod_group)} if needs.pod_group else {}),
            "template": template,
        },
    }
