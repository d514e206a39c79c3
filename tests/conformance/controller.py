"""The part of the controller that a run needs: whether a Pod that ended is re-created.

Independent of podplan's implementation, which it is to verify. Source:
docs/evidence/t9k-common.md#meaning-of-the-restart-policies, docs/evidence/t9k-common.md#backoff-limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RETRYABLE = (130, 137, 138, 143)
BACKOFF_LIMIT = 3
# Jobs whose launcher starts the processes of the workers. The MPI Operator creates a failed launcher again
# unless its restart policy is Never and the backoff limit of the job is 0, as in all cases here.
LAUNCHED = ("ColossalAIJob", "MPIJob")
BACKOFF_LIMIT_OF_JOB = 6


def restarts(cr: Mapping[str, Any], role: str, code: int, before: Mapping[str, int]) -> bool:
    """Whether a Pod of the role whose container ended with ``code`` is re-created.

    ``before`` counts the restarts so far, by role. Kinds whose policy is a string share a limit among all
    their Pods; those whose policy is an object have one for each role.
    """
    spec = cr["spec"]
    if cr["kind"] in LAUNCHED:
        return False  # the launcher does not use a re-created Pod
    policy = next((one for one in _replicas(spec) if one.get("type", "worker") == role), {}).get(
        "restartPolicy"
    )
    if isinstance(policy, Mapping):
        limit, used = policy.get("limit", 0), before.get(role, 0)
        policy = policy.get("policy", "OnFailure")
    else:
        limit = spec.get("runPolicy", {}).get("backoffLimit", BACKOFF_LIMIT)
        used = sum(before.values())
        policy = policy or "OnFailure"
    again = {
        "Always": True,
        "OnFailure": code != 0,
        "Never": False,
        "ExitCode": code in RETRYABLE,
    }
    return again[policy] and used < limit


def waits(cr: Mapping[str, Any], role: str) -> bool:
    """Whether a Pod of the role is created only when all others are ready.

    Source: https://github.com/kubeflow/mpi-operator/blob/v0.6.0/pkg/apis/kubeflow/v2beta1/types.go
    """
    return role == "launcher" and cr["spec"].get("launcherCreationPolicy") == "WaitForWorkersReady"


def restarts_of_job(job: Mapping[str, Any], code: int, before: int) -> bool:
    """Whether a Pod of a batch/v1 Job runs again: by the kubelet or as a new Pod, both count as failures.

    Source: docs/evidence/jobset.md#end-of-a-job.
    """
    return code != 0 and before < int(job["spec"].get("backoffLimit", BACKOFF_LIMIT_OF_JOB))


def role(pod: Mapping[str, Any]) -> str:
    """Return the replica type of a Pod, from a label, else from its name before the index."""
    labels = pod["metadata"].get("labels", {})
    return str(labels.get("replica-type") or pod["metadata"]["name"].rpartition("-")[0].rpartition("-")[2])


def _replicas(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*spec.get("replicaSpecs", ()), *([spec["worker"]] if "worker" in spec else ())]
