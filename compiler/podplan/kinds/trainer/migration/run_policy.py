"""What becomes of the run policy of a PyTorchJob, and of other fields about its life."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, value_at
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.kinds.conversion import Copied, Decision
from podplan.kinds.trainer.migration.runtimes import Needs, find_node_pod
from podplan.kinds.trainer.migration.source_job import SourceJob

if TYPE_CHECKING:
    from podplan.kinds.conversion import Outcome

_FIELDS = ("pytorchReplicaSpecs", "nprocPerNode", "elasticPolicy", "runPolicy")
_DEFAULT_BACKOFF = 6  # of a Job


def build_run_policy(job: SourceJob) -> dict[str, Any]:
    """The fields of the run policy that a TrainJob has, too."""
    path: Path = ("spec", "runPolicy")
    fields: dict[str, Any] = {
        key: Copied((*path, key))
        for key in ("suspend", "activeDeadlineSeconds")
        if job.policy.get(key) is not None
    }
    if str(job.policy.get("managedBy") or "").startswith("kueue.x-k8s.io/"):
        fields["managedBy"] = Copied((*path, "managedBy"))
    return fields


def decide_run_policy(job: SourceJob, runtime: Mapping[str, Any] | None, needs: Needs) -> Iterator[Decision]:
    """Yield what becomes of the fields about the life of the job, and of those that have no place.

    ``runtime`` is that of the repository, None if the job gets one of its own.
    """
    policy, path = job.policy, ("spec", "runPolicy")
    if (policy.get("managedBy") or "").startswith("kubeflow.org/"):
        yield Decision((*path, "managedBy"), "same", "managedBy is removed: Trainer manages its jobs itself")
    if policy.get("activeDeadlineSeconds") is not None:
        text = (
            "activeDeadlineSeconds counts from the creation of the TrainJob, or its resumption, not from"
            " its start"
        )
        yield Decision((*path, "activeDeadlineSeconds"), "changed", text)
    found = find_node_pod(runtime) if runtime is not None else None
    job_spec = found[0] if found is not None else {}
    yield from _decide_clean_up(job, runtime)
    yield from _decide_backoff(job, job_spec.get("backoffLimit"), is_own_runtime=runtime is None)
    yield from _decide_scheduling(job, needs)
    if job.elastic is not None:
        yield from _decide_elastic(job)
    for key in job.spec:
        if key not in _FIELDS:
            yield Decision(("spec", key), "same", f"{key} is removed: the API server drops it anyway")
    template = value_at(job.cr, job.template_path)
    for key in ("name", "generateName", "namespace"):
        if key in (template.get("metadata") or {}):
            text = f"{key} of the Pod template has no effect, as before"
            yield Decision((*job.template_path, "metadata", key), "same", text)


def _decide_backoff(job: SourceJob, present: Any, *, is_own_runtime: bool) -> Iterator[Decision]:
    """Yield what becomes of backoffLimit; ``present`` is that of the runtime."""
    limit, path = job.policy.get("backoffLimit"), ("spec", "runPolicy", "backoffLimit")
    if job.restart_policy == "Never":
        if limit:
            text = f"backoffLimit {limit} had no effect on Pods that are not restarted"
            yield Decision(path, "same", text)
    elif limit is None:
        count = _DEFAULT_BACKOFF if present is None else present
        text = (
            f"restarts have a limit of {count} now, that of a Job; for another, write backoffLimit in the"
            " runtime"
        )
        yield Decision((*job.path, "restartPolicy"), "changed", text)
    elif job.restart_policy == "ExitCode":
        yield Decision(path, "changed", "backoffLimit counts now, which ExitCode ignored")
    elif not is_own_runtime and present != limit:
        text = f"backoffLimit {limit} has no field in a TrainJob: write it in the Job template of the runtime"
        yield Decision(path, "lost", text)


def _decide_clean_up(job: SourceJob, runtime: Mapping[str, Any] | None) -> Iterator[Decision]:
    policy, path = job.policy, ("spec", "runPolicy")
    clean_up, ttl = policy.get("cleanPodPolicy"), policy.get("ttlSecondsAfterFinished")
    present = value_at(runtime, ("spec", "template", "spec", "ttlSecondsAfterFinished"))
    if clean_up == "All":
        text = (
            "cleanPodPolicy All has no field in a TrainJob: finished Pods stay until the TrainJob is"
            " deleted, or"
            " until ttlSecondsAfterFinished of the JobSet in the runtime"
        )
        yield Decision((*path, "cleanPodPolicy"), "lost", text)
    elif clean_up is not None:
        outcome: Outcome = "same" if clean_up == "Running" else "changed"
        text = (
            f"cleanPodPolicy {clean_up} is removed: JobSet deletes the Pods that still run, and keeps"
            " finished ones"
        )
        yield Decision((*path, "cleanPodPolicy"), outcome, text)
    if ttl == 0:
        text = (
            "ttlSecondsAfterFinished 0 is not migrated: a JobSet that is deleted before Trainer has read"
            " its end"
            " is created again; write a larger one in the JobSet template of the runtime"
        )
        yield Decision((*path, "ttlSecondsAfterFinished"), "lost", text)
    elif ttl is not None and (runtime is None or present == ttl):
        text = "ttlSecondsAfterFinished deletes the JobSet and its Pods; the TrainJob stays"
        yield Decision((*path, "ttlSecondsAfterFinished"), "changed", text)
    elif ttl is not None:
        text = (
            f"ttlSecondsAfterFinished {ttl} has no field in a TrainJob: write it in the JobSet template of"
            " the"
            " runtime, and remove the TrainJob by other means"
        )
        yield Decision((*path, "ttlSecondsAfterFinished"), "lost", text)


def _decide_scheduling(job: SourceJob, needs: Needs) -> Iterator[Decision]:
    scheduling = job.policy.get("schedulingPolicy") or {}
    path: Path = ("spec", "runPolicy", "schedulingPolicy")
    if scheduling and not needs.pod_group:
        text = "schedulingPolicy is removed: with [lowering] gang-scheduler none it has no effect"
        yield Decision(path, "same", text)
        return
    is_volcano = "volcano" in needs.pod_group
    minimum = scheduling.get("minAvailable")
    if minimum is not None and minimum != job.nodes:
        text = (
            f"minAvailable {minimum} has no field in a TrainJob: its PodGroup always waits for all"
            f" {job.nodes} Pods"
        )
        yield Decision((*path, "minAvailable"), "lost", text)
    if scheduling.get("minResources") is not None:
        text = "minResources has no field in a TrainJob: its PodGroup sums the requests of all containers"
        yield Decision((*path, "minResources"), "lost", text)
    if scheduling.get("priorityClass") and is_volcano:
        text = (
            "priorityClass of the PodGroup becomes priorityClassName of the Pods, which is their priority,"
            " too"
        )
        yield Decision((*path, "priorityClass"), "changed", text)
    others = ("scheduleTimeoutSeconds",) if is_volcano else ("queue", "priorityClass")
    for key in others:
        if scheduling.get(key) is not None:
            yield Decision((*path, key), "same", f"{key} is removed: this gang scheduler does not read it")


def _decide_elastic(job: SourceJob) -> Iterator[Decision]:
    elastic, path = job.elastic or {}, ("spec", "elasticPolicy")
    low = elastic.get("minReplicas", elastic.get("maxReplicas", job.nodes))
    high = elastic.get("maxReplicas", elastic.get("minReplicas", job.nodes))
    text = f"the rendezvous {elastic.get('rdzvBackend') or 'c10d'} of elasticPolicy is in trainer.env"
    yield Decision(path, "same", text)
    if (low, high) != (job.nodes, job.nodes):
        text = (
            f"minReplicas {low} and maxReplicas {high} have no field in a TrainJob: it always runs"
            f" {job.nodes}"
            " nodes, and waits for a node that is lost"
        )
        yield Decision(path, "lost", text)
    if "metrics" in elastic:
        text = "metrics have no field in a TrainJob: nothing scales it; delete the HorizontalPodAutoscaler"
        yield Decision((*path, "metrics"), "lost", text)
    if elastic.get("rdzvBackend", "c10d").startswith("etcd") and not elastic.get("rdzvHost"):
        text = "the rendezvous etcd has no rdzvHost: set PET_RDZV_ENDPOINT to the etcd server"
        yield Decision((*path, "rdzvBackend"), "lost", text)
