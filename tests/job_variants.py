"""Valid jobs of each kind, and small changes to them, for the tables of test_variants.py."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from podplan.core.findings import Severity
from podplan.lint.example_objects import apply_patch
from podplan.lint.policy import Policy
from podplan.lint.registry import load_builtin_policies
from podplan.lint.rule_selection import RuleSelection, select_policies
from podplan.tools.repository_tests.examples import find_violations

Job = dict[str, Any]
MEET = ("--rdzv_backend=c10d", "--rdzv_endpoint=$(MASTER_ADDR):$(MASTER_PORT)")
SHM = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}}


def container(name: str = "train", gpus: int = 4, **more: Any) -> Job:
    """Build a container with requests, limits and /dev/shm; ``env`` may be a mapping."""
    limits: Job = {"memory": "64Gi"} | ({"nvidia.com/gpu": gpus} if gpus else {})
    if isinstance(more.get("env"), Mapping):
        more["env"] = [{"name": name, "value": value} for name, value in more["env"].items()]
    return {
        "name": name,
        "image": "registry.example.com/nlp/train:7",
        "resources": {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": limits},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
        **more,
    }


def template(*containers: Job, **spec: Any) -> Job:
    return {"spec": {"containers": list(containers), "volumes": [SHM], **spec}}


def pytorch(
    *command: str, torchrun: Job | None = None, n: int = 2, restart: str = "Never", **more: Any
) -> Job:
    """Build a PyTorchTrainingJob: with ``torchrun`` the controller starts it and ``command`` is its args."""
    gpus, env, pod = more.pop("gpus", 4), more.pop("env", None), more.pop("pod", {})
    key = "args" if torchrun is not None else "command"
    said: Job = {key: list(command)} | ({"env": env} if env else {})
    started = container(gpus=gpus, **said)
    spec: Job = {
        "runPolicy": {"activeDeadlineSeconds": 86400, "backoffLimit": 4, "cleanUpPolicy": "Unfinished"},
        "scheduler": {"t9kScheduler": {"queue": "default"}},
        "replicaSpecs": [
            {
                "type": "worker",
                "replicas": n,
                "restartPolicy": restart,
                "template": template(started, **pod),
            }
        ],
    }
    if torchrun is not None:
        spec["torchrunConfig"] = {"enabled": True, **torchrun}
    return _job("PyTorchTrainingJob", spec | more)


def torchrun(*options: str, **more: Any) -> Job:
    """Build a PyTorchTrainingJob whose command is torchrun with these options."""
    return pytorch("torchrun", "--nproc_per_node=4", *options, "train.py", **more)


def started(config: Job | None = None, **more: Any) -> Job:
    """Build a PyTorchTrainingJob of four replicas that the controller starts with torchrun."""
    return pytorch(
        "train.py", torchrun={"procPerNode": "4"} | (config or {}), restart="OnFailure", n=4, **more
    )


def elastic(least: int, most: int, now: int, **more: Any) -> Job:
    """Build an elastic PyTorchTrainingJob that the controller starts with torchrun."""
    bounds = {"enabled": True, "minReplicas": least, "maxReplicas": most, "expectedReplicas": now}
    return started(elastic=bounds, **more)


def deepspeed(*script: str, other: list[str] | None = None, n: int = 2, **more: Any) -> Job:
    """Build a DeepSpeedJob of ``n`` workers with four GPUs each; ``other`` are otherArgs."""
    env, image = more.pop("env", None), more.pop("image", "registry.example.com/nlp/deepspeed:0.16.5")
    worker = container("worker", image=image, **({"env": env} if env else {}))
    config: Job = {"slotsPerWorker": 4, "run": {"python": list(script) or ["train.py"]}}
    if other is not None:
        config["otherArgs"] = other
    spec = {
        "runPolicy": {"activeDeadlineSeconds": 86400, "backoffLimit": 4, "cleanUpPolicy": "Unfinished"},
        "scheduler": {"t9kScheduler": {"queue": "default"}},
        "config": config,
        "worker": {"replicas": n, "restartPolicy": "Never", "template": template(worker)},
    }
    return _job("DeepSpeedJob", spec | more)


def by_hand(command: str, **more: Any) -> Job:
    """Build a DeepSpeedJob with a customCommand."""
    return deepspeed(config={"slotsPerWorker": 4, "customCommand": command}, **more)


def colossalai(*script: str, old: bool = False, n: int = 2, **more: Any) -> Job:
    """Build a ColossalAIJob in the replicaSpecs dialect, or the ``old`` one with launcher and worker."""
    env, sent, extra = more.pop("env", None), more.pop("sent", None), more.pop("extra", None)
    image = "registry.example.com/nlp/colossalai:0.3.5"
    worker = container("worker", image=more.pop("image", image), **({"env": env} if env else {}))
    pod = template(worker, **more.pop("pod", {}))
    launcher: Job = {
        "image": image,
        "workingDir": "/workspace",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
    }
    if sent:
        launcher["env"] = [{"name": name, "value": value} for name, value in sent.items()]
    words = list(script) or ["train.py"]
    spec: Job = {
        "runPolicy": {"cleanUpWorkers": True},
        "scheduler": {"t9kScheduler": {"queue": "default"}},
    }
    if old:
        spec["launcher"] = launcher
        spec["worker"] = {"replicas": n, "procPerWorker": 4, "command": words, "template": pod}
        spec["worker"] |= {"torchArgs": extra} if extra else {}
        return _job("ColossalAIJob", spec | more)
    spec["torchConfig"] = {"procPerWorker": 4, "script": words} | ({"extraArgs": extra} if extra else {})
    spec["replicaSpecs"] = [
        {
            "type": "launcher",
            "replicas": 1,
            "template": {"spec": {"containers": [{"name": "launcher", **launcher}]}},
        },
        {"type": "worker", "replicas": n, "template": pod},
    ]
    return _job("ColossalAIJob", spec | more)


def generic(*command: str, n: int = 2, **more: Any) -> Job:
    """Build a GenericJob whose replicas have a Service with the port 29500."""
    gpus, env, pod = more.pop("gpus", 4), more.pop("env", None), more.pop("pod", {})
    started = container(gpus=gpus, command=list(command), **({"env": env} if env else {}))
    spec = {
        "cleanUpPolicy": "Unfinished",
        "successRules": [{"worker": [0]}],
        "scheduler": {"t9kScheduler": {"queue": "default"}},
        "service": {"ports": [{"name": "rdzv", "port": 29500}]},
        "replicaSpecs": [
            {
                "type": "worker",
                "replicas": n,
                "restartPolicy": {"policy": "Never"},
                "template": template(started, **pod),
            }
        ],
    }
    return _job("GenericJob", spec | more)


def changed(job: Job, patch: Mapping[str, Any]) -> Job:
    """Apply a JSON Merge Patch to a job; a list is patched by a mapping of its indexes."""
    patched: Job = apply_patch(job, patch)
    return patched


def _job(kind: str, spec: Job) -> Job:
    head = {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": kind}
    return {**head, "metadata": {"name": "train", "namespace": "nlp"}, "spec": spec}


@cache
def default() -> tuple[Policy, ...]:
    """Return the policies that are enabled by default."""
    return tuple(select_policies(load_builtin_policies(), RuleSelection()))


def said(job: Job, cluster: Job | None = None) -> set[str]:
    """Return the rules with an error or warning for a job, in a cluster with this inventory."""
    given = {"inventory": cluster} if cluster else {}
    found = find_violations({"object": job, **given}, default())
    return {one.rule for one in found if one.severity >= Severity.WARNING}
