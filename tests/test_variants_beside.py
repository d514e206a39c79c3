"""What stands beside a mistake, and what a cluster has: what the default rules say, and nothing more."""

from __future__ import annotations

from typing import Any

import pytest

from tests.job_variants import (
    MEET,
    Job,
    changed,
    deepspeed,
    elastic,
    generic,
    pytorch,
    said,
    started,
    torchrun,
)


def rdma(rights: Job, **env: str) -> Job:
    """One process on each of two nodes with an RDMA device."""
    one = {"resources": {"limits": {"rdma/hca": 1}}, "securityContext": rights}
    job = pytorch("python", "train.py", gpus=1, env=env or None)
    return changed(job, {"spec": {"replicaSpecs": {"0": {"template": {"spec": {"containers": {"0": one}}}}}}})


def data(**more: Any) -> Job:
    """A job whose replicas all write to one claim."""
    job = pytorch("python", "train.py", gpus=1, **more)
    pod = job["spec"]["replicaSpecs"][0]["template"]["spec"]
    pod["volumes"] = [*pod["volumes"], {"name": "data", "persistentVolumeClaim": {"claimName": "scratch"}}]
    pod["containers"][0]["volumeMounts"].append({"name": "data", "mountPath": "/data"})
    return job


def image(name: str) -> Job:
    job = pytorch("python", "train.py", gpus=1)
    job["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["image"] = name
    return job


# Clean but for one thing, which is another rule's: what is beside it must not be found too.
BESIDE = {
    "NCCL_IB_DISABLE is 0": (rdma({"capabilities": {"add": ["IPC_LOCK"]}}, NCCL_IB_DISABLE="0"), set()),
    "RDMA and another variable": (rdma({"capabilities": {"add": ["IPC_LOCK"]}}, A="1"), set()),
    "RDMA turned off": (
        rdma({"capabilities": {"add": ["IPC_LOCK"]}}, NCCL_IB_DISABLE="1"),
        {"NET007"},
    ),
    "RDMA and all rights": (rdma({"privileged": True}), {"SEC002"}),
    "RDMA and no right": (rdma({}), {"NET003"}),
    "the network of the node for one": (
        generic("python", "a.py", n=1, gpus=1, service=None, pod={"hostNetwork": True}),
        {"SEC001"},
    ),
    "the network of the node for two": (
        generic("python", "a.py", gpus=1, service=None, pod={"hostNetwork": True}),
        {"SEC001"},
    ),
    "an interface of the node there": (
        generic(
            *("python", "a.py"), n=1, gpus=1, pod={"hostNetwork": True}, env={"NCCL_SOCKET_IFNAME": "ib0"}
        ),
        {"SEC001"},
    ),
    "a claim on a pinned node": (data(pod={"nodeName": "n1"}), set()),
    "a port in another variable": (generic("python", "a.py", gpus=1, env={"PORT": "40000"}), set()),
    "a port in the variable": (generic("python", "a.py", gpus=1, env={"MASTER_PORT": "40000"}), {"NET005"}),
    "no GPU and a variable": (generic("python", "a.py", gpus=0, env={"A": "all"}), set()),
    "no GPU and all of them": (
        generic("python", "a.py", gpus=0, env={"NVIDIA_VISIBLE_DEVICES": "all"}),
        {"RES004"},
    ),
    "bounds that are off": (
        started(elastic={"enabled": False, "minReplicas": 9, "maxReplicas": 2, "expectedReplicas": 6}),
        set(),
    ),
    "other replicas of deepspeed": (
        deepspeed(elastic={"enabled": True, "minReplicas": 1, "maxReplicas": 8, "expectedReplicas": 4}),
        set(),
    ),
    "a wrong host in debug mode": (
        torchrun(
            "--nnodes=2", MEET[0], "--rdzv_endpoint=train-worker-2", runMode={"debug": {"enabled": True}}
        ),
        set(),
    ),
}

CLUSTER = {
    "asOf": "2026-11-02",
    "queues": {"default": {"quota": {"nvidia.com/gpu": 16}, "priority": {"min": 10, "max": 80}}},
    "nodes": {"a100": {"count": 8, "allocatable": {"nvidia.com/gpu": 8, "cpu": 96, "memory": "900Gi"}}},
    "pvcs": {"scratch": {"accessModes": ["ReadWriteMany"]}},
    "namespaces": {"nlp": {}},
    "registries": ["registry.example.com/nlp", "docker.io/library"],
}
IN_CLUSTER = {
    "it fits": (started(), {}, set()),
    "a quota that is too small": (
        started(),
        {"queues": {"default": {"quota": {"nvidia.com/gpu": 15}}}},
        {"SCHED002"},
    ),
    "a quota for the least": (
        elastic(2, 8, 4),
        {"queues": {"default": {"quota": {"nvidia.com/gpu": 8}}}},
        set(),
    ),
    "another queue": (started(), {"queues": {"research": {}}}, {"SCHED005"}),
    "a queue of others": (started(), {"queues": {"default": {"namespaces": ["vision"]}}}, {"SCHED005"}),
    "a priority too low": (
        started(scheduler={"t9kScheduler": {"queue": "default", "priority": 9}}),
        {},
        {"SCHED006"},
    ),
    "the lowest priority": (
        started(scheduler={"t9kScheduler": {"queue": "default", "priority": 10}}),
        {},
        set(),
    ),
    "small nodes": (
        started(),
        {"nodes": {"a10": {"count": 8, "allocatable": {"nvidia.com/gpu": 3}}}},
        {"SCHED004"},
    ),
    "another namespace": (started(), {"namespaces": {"vision": {}}}, {"NAME004"}),
    "a mesh": (started(), {"namespaces": {"nlp": {"labels": {"istio-injection": "enabled"}}}}, {"NET002"}),
    "a mesh elsewhere": (started(), {"namespaces": {"nlp": {"labels": {"istio-injection": "no"}}}}, set()),
    "root refused": (
        deepspeed(),
        {"namespaces": {"nlp": {"podSecurity": "restricted"}}},
        {"SSH013"},
    ),
    "root allowed": (deepspeed(), {"namespaces": {"nlp": {"podSecurity": "baseline"}}}, set()),
    "a claim for one node": (data(), {"pvcs": {"scratch": {"accessModes": ["ReadWriteOnce"]}}}, {"VOL001"}),
    "a claim for one node, pinned": (
        data(pod={"nodeName": "n1"}),
        {"pvcs": {"scratch": {"accessModes": ["ReadWriteOnce"]}}},
        set(),
    ),
    "a claim for one Pod": (data(), {"pvcs": {"scratch": {"accessModes": ["ReadWriteOncePod"]}}}, {"VOL002"}),
    "a claim for reading": (data(), {"pvcs": {"scratch": {"accessModes": ["ReadOnlyMany"]}}}, {"VOL003"}),
    "a claim that is not there": (data(), {"pvcs": {"scrath": {}}}, {"VOL005"}),
    "another registry": (image("quay.io/nlp/train:7"), {}, {"IMG001"}),
    "another folder": (image("registry.example.com/vision/train:7"), {}, {"IMG001"}),
    "a longer name": (image("registry.example.com/nlp2/train:7"), {}, {"IMG001"}),
    "the library of Docker": (image("python:3.12"), {}, set()),
    "a folder of Docker": (image("pytorch/pytorch:2.8"), {}, {"IMG001"}),
    "a registry with a port": (image("registry:5000/train:7"), {"registries": ["registry:5000"]}, set()),
    "a registry of the node": (image("localhost/train:7"), {"registries": ["localhost"]}, set()),
    "no list": (image("quay.io/nlp/train:7"), {"registries": []}, set()),
}


@pytest.mark.parametrize(("job", "rules"), BESIDE.values(), ids=BESIDE)
def test_nothing_more_is_found(job: Job, rules: set[str]) -> None:
    assert said(job) == rules


@pytest.mark.parametrize(("job", "cluster", "rules"), IN_CLUSTER.values(), ids=IN_CLUSTER)
def test_a_cluster_is_what_its_inventory_says(job: Job, cluster: Job, rules: set[str]) -> None:
    assert said(job, CLUSTER | cluster) == rules
