"""What a profile calls the fields that Kubernetes, an operator or a launcher calls otherwise."""

from __future__ import annotations

from collections.abc import Collection

from podplan.core.findings import Path

_SPEC = ("spec",)
# By the field of a profile that takes the value: the words that are written for it.
_WORDS_BY_FIELD = {
    "run": ("command", "args", "script", "entrypoint"),
    "hardware or resources.limits": ("gpus", "gpu", "cpu", "memory"),
    "replicas": ("nodes", "nnodes", "numNodes", "workers", "numWorkers"),
    "data": ("volumes", "volumeMounts"),
    "schedule.queue": ("queue", "queueName"),
    "schedule.priority": ("priority", "priorityClass", "priorityClassName"),
    "deadline": ("timeout", "activeDeadlineSeconds"),
    "cleanUp, or override for ttlSecondsAfterFinished,": ("ttl", "ttlSecondsAfterFinished"),
    "cleanUp": ("cleanPodPolicy", "cleanUpPolicy"),
    "retries": ("backoffLimit", "maxRetries"),
    "restart": ("restartPolicy",),
    "processes": ("nproc", "nprocPerNode", "nproc_per_node", "numProcPerNode", "procPerNode"),
    "container.imagePullPolicy": ("imagePullPolicy",),
    "pod.spec.serviceAccountName": ("serviceAccount", "serviceAccountName"),
    **{
        f"pod.spec.{name}": (name,)
        for name in (
            "nodeSelector", "tolerations", "affinity", "imagePullSecrets", "initContainers", "hostNetwork",
            "securityContext", "schedulerName", "runtimeClassName", "terminationGracePeriodSeconds",
        )
    },
    **{f"metadata.{name}": (name,) for name in ("namespace", "labels", "annotations")},
}  # fmt: skip
PROFILE_FIELDS_BY_WORD = {word: field for field, words in _WORDS_BY_FIELD.items() for word in words}


def find_profile_field(word: str, fields: Collection[str], path: Path) -> str:
    """Return what to write instead of ``word`` at ``path``, where a profile has ``fields``, or ""."""
    field = PROFILE_FIELDS_BY_WORD.get(word, "")
    is_metadata = field.startswith("metadata.")
    is_usable = path == _SPEC if is_metadata else get_first_step(field) in fields
    return field if is_usable else ""


def get_first_step(field: str) -> str:
    """Return the field of the spec, or of a role, that the words of the table begin with."""
    return field.replace(",", " ").split(" ")[0].partition(".")[0]
