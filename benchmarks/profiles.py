"""Generates profiles of mixed kinds, with their base profile and inventory, from a seed."""

from __future__ import annotations

from random import Random
from typing import Any

from benchmarks.crs import MODELS, TEAMS

Tree = dict[str, Any]

HARDWARE = {"h100x8": 8, "a100x4": 4, "a10x1": 1}
INVENTORY: Tree = {
    "apiVersion": "podplan/v1",
    "kind": "ClusterInventory",
    "metadata": {"name": "bench"},
    "spec": {
        "hardware": {
            name: {
                "gpus": {"nvidia.com/gpu": gpus},
                "cpu": gpus * 12,
                "memory": f"{gpus * 100}Gi",
                "shm": f"{gpus * 32}Gi",
            }
            for name, gpus in HARDWARE.items()
        },
        "queues": {team: {"quota": {"nvidia.com/gpu": 1_000_000}} for team in TEAMS},
        "pvcs": {
            "datasets": {"accessModes": ["ReadWriteMany"]},
            "checkpoints": {"accessModes": ["ReadWriteMany"]},
        },
        "secrets": {"wandb": {"keys": ["api-key"]}},
    },
}
BASE: Tree = {
    "apiVersion": "podplan/v1",
    "kind": "JobProfileBase",
    "spec": {
        "data": [
            {"name": "datasets", "pvc": "datasets", "mount": "/data", "readOnly": True},
            {"name": "checkpoints", "pvc": "checkpoints", "mount": "/checkpoints"},
        ],
        "schedule": {"priority": 40},
    },
}


OF_KIND: dict[str, Tree] = {
    "PyTorchTrainingJob": {"launcher": "torchrun", "processes": "auto", "cleanUp": "All", "deadline": "24h"},
    "DeepSpeedJob": {"processes": "auto", "cleanUp": "All", "deadline": "48h"},
    "ColossalAIJob": {"processes": "auto", "cleanUp": "Workers"},
    "GenericJob": {"cleanUp": "All", "generic": {"successRules": [{"worker": [0]}]}},
}
KINDS = tuple(OF_KIND)


def profile(number: int, random: Random, replicas: int = 8) -> Tree:
    """Generate profile ``number`` of a repository; it extends ``base.yaml`` in the same folder."""
    kind = KINDS[number % len(KINDS)]
    team, model = random.choice(TEAMS), random.choice(MODELS)
    spec: Tree = {
        "extends": ["base.yaml"],
        "job": kind,
        "image": f"registry.example.com/{team}/{model}@sha256:{random.getrandbits(256):064x}",
        "run": [f"{model}.py", "--epochs", "${{ params.epochs }}", "--seed", str(random.randrange(1000))],
        "replicas": replicas,
        "hardware": random.choice(sorted(HARDWARE)),
        "schedule": {"queue": team},
        "params": {"epochs": {"type": "integer", "default": random.randrange(1, 100)}},
    }
    spec |= OF_KIND[kind]
    return {
        "apiVersion": "podplan/v1",
        "kind": "JobProfile",
        "metadata": {"name": f"{model}-{number}", "namespace": team, "labels": {"team": team}},
        "spec": spec,
    }


def alone(number: int, random: Random) -> Tree:
    """Generate a profile without base, inventory and expressions: everything is in its own file."""
    made = profile(number, random)
    spec = made["spec"]
    gpus = HARDWARE[spec.pop("hardware")]
    del spec["extends"], spec["params"]
    spec["run"][2] = "90"
    spec["resources"] = {"limits": {"cpu": gpus * 12, "memory": f"{gpus * 100}Gi", "nvidia.com/gpu": gpus}}
    spec["shm"] = f"{gpus * 32}Gi"
    spec["data"] = BASE["spec"]["data"]
    spec["schedule"] = {**spec["schedule"], **BASE["spec"]["schedule"]}
    return made


def fan_out(environments: int, axis: int) -> Tree:
    """Generate a profile with environments, and a matrix of ``axis`` learning rates by two seeds."""
    made = profile(0, Random(0), replicas=2)
    made["metadata"]["name"] = "sweep"
    spec = made["spec"]
    spec["run"] += ["--lr", "${{ matrix.lr }}", "--fold", "${{ matrix.fold }}"]
    spec["matrix"] = {"axes": {"lr": [round(0.001 * n, 3) for n in range(1, axis + 1)], "fold": [1, 2]}}
    spec["environments"] = sites(environments)
    return made


def sites(number: int) -> Tree:
    """Generate environments, each with its own namespace and value."""
    return {f"site-{n}": {"namespace": f"site-{n}", "values": {"epochs": n + 100}} for n in range(number)}


def wide(number: int, instances: int, variables: int) -> Tree:
    """Generate a small file of many big jobs: many matrix instances, each with many environment variables."""
    made = profile(number, Random(number), replicas=4)
    spec = made["spec"]
    spec["run"] += ["--fold", "${{ matrix.fold }}"]
    spec["env"] = {f"OPTION_{n:03}": "${{ matrix.fold }}" for n in range(variables)}
    spec["matrix"] = {"maxInstances": instances, "axes": {"fold": list(range(instances))}}
    return made
