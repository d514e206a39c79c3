"""Generates custom resources of mixed kinds, as in a maintained repository, from a seed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

Tree = dict[str, Any]

API_VERSION = "batch.tensorstack.dev/v1beta1"
TEAMS = ("vision", "speech", "language", "ranking", "robotics")
MODELS = ("resnet", "conformer", "mixtral", "dlrm", "unet", "whisper", "vit", "t5")


def cr(number: int, random: Random, replicas: int = 8) -> Tree:
    """Generate CR ``number`` of a repository: the kinds alternate, everything else is chosen by
    ``random``."""
    make = KINDS[number % len(KINDS)]
    team, model = random.choice(TEAMS), random.choice(MODELS)
    made = make(random, team, model, replicas)
    metadata = {
        "name": f"{model}-{number}",
        "namespace": team,
        "labels": {"team": team, "app.kubernetes.io/part-of": model},
        "annotations": {"example.com/owner": f"{team}@example.com"},
    }
    return {"apiVersion": API_VERSION, "kind": made.pop("kind"), "metadata": metadata, "spec": made}


def _pytorch(random: Random, team: str, model: str, replicas: int) -> Tree:
    gpus = random.choice((1, 2, 4, 8))
    container = _container("pytorch", team, model, gpus, random)
    container["args"] = [f"{model}.py", *_options(random)]
    return {
        "kind": "PyTorchTrainingJob",
        "scheduler": _scheduler(team, random),
        "runPolicy": {"activeDeadlineSeconds": 86400, "backoffLimit": 3, "cleanUpPolicy": "All"},
        "torchrunConfig": {
            "enabled": True,
            "procPerNode": str(gpus),
            "maxRestarts": 3,
            "rdzvBackend": "c10d",
        },
        "replicaSpecs": [
            {
                "type": "worker",
                "replicas": replicas,
                "restartPolicy": "OnFailure",
                "template": _template(container),
            }
        ],
    }


def _deepspeed(random: Random, team: str, model: str, replicas: int) -> Tree:
    gpus = random.choice((4, 8))
    return {
        "kind": "DeepSpeedJob",
        "scheduler": _scheduler(team, random),
        "runPolicy": {"activeDeadlineSeconds": 172800, "cleanUpPolicy": "All"},
        "config": {
            "slotsPerWorker": gpus,
            "run": {"python": [f"{model}.py", "--deepspeed_config", "zero3.json", *_options(random)]},
        },
        "worker": {
            "replicas": replicas,
            "template": _template(
                _container("worker", team, model, gpus, random, over_ssh=True), over_ssh=True
            ),
        },
    }


def _colossalai(random: Random, team: str, model: str, replicas: int) -> Tree:
    launcher = _container("launcher", team, model, 0, random, over_ssh=True)
    worker = {**_container("worker", team, model, 8, random, over_ssh=True), "image": launcher["image"]}
    return {
        "kind": "ColossalAIJob",
        "scheduler": _scheduler(team, random),
        "runPolicy": {"cleanUpWorkers": True},
        "torchConfig": {"procPerWorker": 8, "script": [f"{model}.py", *_options(random)]},
        "replicaSpecs": [
            {"type": "launcher", "replicas": 1, "template": _template(launcher, over_ssh=True)},
            {"type": "worker", "replicas": replicas - 1, "template": _template(worker, over_ssh=True)},
        ],
    }


def _generic(random: Random, team: str, model: str, replicas: int) -> Tree:
    server = _container("server", team, model, 0, random)
    server["command"] = ["/app/server", "--shard=$(rank)", "--of=$(replicas[server])"]
    server["ports"] = [{"name": "rpc", "containerPort": 7000}]
    worker = _container("worker", team, model, 1, random)
    worker["command"] = ["python", f"{model}.py", *_options(random)]
    worker["env"].append({"name": "SERVER", "value": "$(service.server[0].host):$(service.port[rpc])"})
    servers = max(replicas // 4, 1)
    return {
        "kind": "GenericJob",
        "scheduler": _scheduler(team, random),
        "service": {"ports": [{"name": "rpc", "port": 7000, "targetPort": 7000}]},
        "successRules": [{"worker": list(range(min(replicas - servers, 4)))}],
        "failureRules": [{"server": [0]}],
        "cleanUpPolicy": "All",
        "replicaSpecs": [
            {
                "type": "server",
                "replicas": servers,
                "restartPolicy": {"policy": "Always", "limit": 10},
                "template": _template(server),
            },
            {
                "type": "worker",
                "replicas": replicas - servers,
                "restartPolicy": {"policy": "OnFailure", "limit": 3},
                "template": _template(worker),
            },
        ],
    }


KINDS: tuple[Callable[[Random, str, str, int], Tree], ...] = (_pytorch, _deepspeed, _colossalai, _generic)


def _container(
    name: str, team: str, model: str, gpus: int, random: Random, *, over_ssh: bool = False
) -> Tree:
    """Generate a container; if it starts the training ``over_ssh``, it runs as root and exports no
    variables."""
    limits: Tree = {"cpu": max(gpus, 1) * 8, "memory": f"{max(gpus, 1) * 64}Gi"}
    if gpus:
        limits["nvidia.com/gpu"] = gpus
    names = () if over_ssh else random.sample(sorted(_VALUES), 2)
    rights: Tree = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {
        "name": name,
        "image": f"registry.example.com/{team}/{model}@sha256:{random.getrandbits(256):064x}",
        "workingDir": f"/workspace/{model}",
        "env": [*({"name": one, "value": _VALUES[one]} for one in names), *([] if over_ssh else [_KEY])],
        "resources": {"limits": limits, "requests": dict(limits)},
        "volumeMounts": [
            {"name": "data", "mountPath": "/data", "readOnly": True},
            {"name": "checkpoints", "mountPath": "/checkpoints"},
            {"name": "dshm", "mountPath": "/dev/shm"},
        ],
        **({} if over_ssh else {"securityContext": rights}),
    }


_KEY = {"name": "WANDB_API_KEY", "valueFrom": {"secretKeyRef": {"name": "wandb", "key": "api-key"}}}
_VALUES = {
    "NCCL_DEBUG": "WARN",
    "OMP_NUM_THREADS": "8",
    "HF_HOME": "/checkpoints/cache",
    "TOKENIZERS_PARALLELISM": "false",
}


def _template(container: Tree, *, over_ssh: bool = False) -> Tree:
    rights = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    return {
        "metadata": {"labels": {"tier": container["name"]}},
        "spec": {
            **({} if over_ssh else {"securityContext": rights}),
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "containers": [container],
            "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": "datasets", "readOnly": True}},
                {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "checkpoints"}},
                {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}},
            ],
        },
    }


def _scheduler(team: str, random: Random) -> Tree:
    return {"t9kScheduler": {"queue": team, "priority": random.randrange(10, 80)}}


def _options(random: Random) -> list[str]:
    """Generate some options of a training script."""
    known = {
        "--epochs": str(random.randrange(1, 100)),
        "--lr": f"0.00{random.randrange(1, 100):02}",
        "--batch-size": str(2 ** random.randrange(4, 10)),
        "--seed": str(random.randrange(1000)),
        "--data": "/data/train",
        "--output": f"/checkpoints/run-{random.randrange(10_000)}",
    }
    return [word for name in random.sample(sorted(known), 4) for word in (name, known[name])]
