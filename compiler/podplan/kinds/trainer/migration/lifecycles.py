"""How a TrainJob and a PyTorchJob restart, end and are cleaned up, in the same words, so that both compare.

Sources: docs/evidence/training-operator.md#end-of-a-job, docs/evidence/jobset.md#jobs,
docs/evidence/trainer.md#migration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podplan.core.provenance import Cursor
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kinds.spec import References

_BY_KUBELET = "in its Pod"
_DEFAULT_BACKOFF = 6  # of a Job


def describe_pytorch_job(
    cr: Cursor, _references: References, _groups: Sequence[ReplicaGroup]
) -> Mapping[str, str]:
    """How the training operator treats a PyTorchJob once its Pods run."""
    spec = cr.get("spec")
    policy, specs = spec.get("runPolicy"), spec.get("pytorchReplicaSpecs")
    first = specs.get("Master") if specs.get("Master").exists else specs.get("Worker")
    restart = str(first.get("restartPolicy").value or "OnFailure")
    limit = policy.get("backoffLimit")
    backoff = f"the job fails after {limit.value} restarts of all Pods" if limit.exists else "no limit"
    if restart == "ExitCode":
        backoff = "no limit: ExitCode does not count"
    if specs.get("Master").exists:
        success = "when the Master ends with 0"
    else:
        success = f"when {'one worker ends' if spec.get('elasticPolicy').exists else 'all nodes end'} with 0"
    clean_up = str(policy.get("cleanPodPolicy").value or "None")
    return {
        "success": success,
        "failed process": {
            "Never": "fails the job",
            "ExitCode": "gets a new Pod after exit codes from 128 on, else fails the job",
        }.get(restart, f"restarts {_BY_KUBELET}"),
        "back-off": "none" if restart == "Never" else backoff,
        "clean-up": {
            "None": "all Pods stay, also those that still run",
            "Running": "Pods that still run are deleted, finished ones stay",
            "All": "all Pods are deleted",
        }.get(clean_up, f"cleanPodPolicy {clean_up}"),
        **_describe_numbers(policy, policy.get("ttlSecondsAfterFinished"), "the job and its Pods"),
    }


def describe_train_job(
    cr: Cursor, _references: References, groups: Sequence[ReplicaGroup]
) -> Mapping[str, str]:
    """How JobSet and the Job controller treat the Pods of a TrainJob."""
    job_set: dict[str, Any] = next(
        (one.doc.data["spec"] for one in groups if one.doc.data["kind"] == "JobSet"), {}
    )
    job: dict[str, Any] = next((one.doc.data["spec"] for one in groups if one.doc.data["kind"] == "Job"), {})
    pod = job.get("template", {}).get("spec", {})
    policy, count = job.get("podFailurePolicy"), job.get("backoffLimit", _DEFAULT_BACKOFF)
    restarts = job_set.get("failurePolicy", {}).get("maxRestarts", 0)
    again = f", then the JobSet starts again, up to {restarts} times" if restarts else ""
    is_never = pod.get("restartPolicy") == "Never"
    failed = f"restarts {_BY_KUBELET}"
    if is_never and not policy:
        failed = "gets a new Pod" if count or restarts else "fails the job"
    elif is_never:
        failed = "gets a new Pod, unless podFailurePolicy fails the job"
        if _fails_low_exit_codes(policy):
            failed = "gets a new Pod after exit codes from 128 on, else fails the job"
    elif again:
        failed += again
    backoff = f"the job fails after {count} restarts of all Pods"
    success = job_set.get("successPolicy", {}).get("operator", "All")
    return {
        "success": f"when {'all nodes end' if success == 'All' else 'one node ends'} with 0",
        "failed process": failed,
        "back-off": (backoff if count else "none") + again,
        "clean-up": "Pods that still run are deleted, finished ones stay",
        **_describe_numbers(
            cr.get("spec"), job_set.get("ttlSecondsAfterFinished"), "the JobSet and its Pods"
        ),
    }


def _fails_low_exit_codes(policy: Any) -> bool:
    """Whether a podFailurePolicy has the rule that stands for the restart policy ExitCode."""
    return any(
        rule.get("action") == "FailJob" and 1 in (rule.get("onExitCodes") or {}).get("values", ())
        for rule in policy.get("rules") or ()
    )


def _describe_numbers(policy: Cursor, ttl: Any, what: str) -> dict[str, str]:
    seconds = ttl.value if isinstance(ttl, Cursor) else ttl
    deadline = policy.get("activeDeadlineSeconds")
    manager = str(policy.get("managedBy").value or "")
    is_other = bool(manager) and not manager.endswith(("/training-operator", "/trainjob-controller"))
    return {
        "deadline": f"{deadline.value} s" if deadline.exists else "none",
        "TTL": f"{what} are deleted after {seconds} s" if seconds is not None else "none",
        "suspended": "yes" if policy.get("suspend").value is True else "no",
        "managed by": manager if is_other else "its own controller",
    }
