"""The arithmetic of processes, nodes, ranks and hosts, beyond the examples of the policies."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from podplan.core.indexed_text import Indexed
from podplan.lint.analysis import pod_hosts
from tests.policy_examples import findings
from tests.rows import each_row

Data = dict[str, Any]
GROUPS = ("DIST", "TORCH", "DS", "CA", "GEN", "MPI")


def resources(gpus: int) -> Data:
    limits: Data = {"memory": "16Gi"} | ({"nvidia.com/gpu": gpus} if gpus else {})
    return {"requests": {"cpu": "4", "memory": "16Gi"}, "limits": limits}


def template(gpus: int, command: list[Any], **container: Any) -> Data:
    trained = {
        "name": "worker",
        "image": "registry.example.com/train:1",
        "command": command,
        "resources": resources(gpus),
        **container,
    }
    return {"spec": {"containers": [trained]}}


def cr(kind: str, spec: Data) -> Data:
    metadata = {"name": "train", "namespace": "nlp"}
    return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}


def pytorch(replicas: int, gpus: int, line: str, **container: Any) -> Data:
    made = template(gpus, ["bash", "-c", line], **container)
    return cr("PyTorchTrainingJob", {"replicaSpecs": [{"type": "w", "replicas": replicas, "template": made}]})


def generic(types: dict[str, int], line: str, gpus: int = 0, **container: Any) -> Data:
    specs = [
        {"type": type_, "replicas": replicas, "template": template(gpus, ["bash", "-c", line], **container)}
        for type_, replicas in types.items()
    ]
    service = {"ports": [{"name": "rdzv", "port": 29500}]}
    rules = [{next(iter(types)): [0]}]
    return cr("GenericJob", {"successRules": rules, "service": service, "replicaSpecs": specs})


def deepspeed(replicas: int, slots: int, options: list[str], gpus: int = 0) -> Data:
    config = {"slotsPerWorker": slots, "otherArgs": options, "run": {"python": ["train.py"]}}
    made = {
        "spec": {"containers": [{"name": "worker", "image": "deepspeed:1", "resources": resources(gpus)}]}
    }
    return cr("DeepSpeedJob", {"config": config, "worker": {"replicas": replicas, "template": made}})


def said(job: Data, code: str = "DIST001") -> list[str]:
    """What the rules of these groups say of a job, as "CODE: message"."""
    return [
        f"{found.rule}: {found.message}"
        for found in findings({"object": job}, code)
        if found.rule.startswith(GROUPS)
    ]


JOIN = "--rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT"
STATIC = "--master_addr=$(service.worker[0].host)"


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (pytorch(1, 8, "torchrun --nproc_per_node=8 a.py"), []),
        (pytorch(1, 8, "torchrun --nproc_per_node=$((2*4)) a.py"), []),
        (pytorch(1, 4, "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 a.py"), []),
        (
            pytorch(1, 4, "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=4 a.py"),
            [
                "DIST005: torchrun starts 4 processes in each Pod, which has 4 GPUs, of which "
                "CUDA_VISIBLE_DEVICES exposes 2"
            ],
        ),
        (
            pytorch(1, 2, "CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node=4 a.py"),
            ["DIST005: torchrun starts 4 processes in each Pod, which has 2 GPUs"],
        ),
        (pytorch(1, 2, "CUDA_VISIBLE_DEVICES= torchrun --nproc_per_node=4 a.py"), []),
        (pytorch(1, 2, "CUDA_VISIBLE_DEVICES=-1 torchrun --nproc_per_node=4 a.py"), []),
        (pytorch(1, 2, "CUDA_VISIBLE_DEVICES=0,-1 torchrun --nproc_per_node=1 a.py"), []),
        (
            pytorch(1, 2, "python prepare.py && python train.py"),
            ["DIST001: python starts 1 process in each Pod, so 1 of its 2 GPUs is idle"],
        ),
        (pytorch(1, 2, "python a.py & python b.py & wait"), []),
        (pytorch(1, 2, "python prepare.py && torchrun --nproc_per_node=2 train.py"), []),
        (
            pytorch(1, 2, "python -m vision.train"),
            ["DIST001: python starts 1 process in each Pod, so 1 of its 2 GPUs is idle"],
        ),
        (pytorch(1, 2, "python -m vision.train --devices 2"), []),
        (pytorch(1, 2, "python -m llamafactory.launcher sft.yaml"), []),
        (pytorch(1, 2, "accelerate launch --num_processes=2 a.py"), []),
        (pytorch(2, 2, "accelerate launch --num_processes=4 a.py"), []),
        (
            pytorch(1, 2, "accelerate launch --num_processes=4 a.py"),
            ["DIST005: accelerate starts 4 processes in each Pod, which has 2 GPUs"],
        ),
        (deepspeed(2, 4, [], gpus=4), []),
        (deepspeed(2, 4, ["--include=train-worker-0:0@train-worker-1:1"], gpus=4), []),
        (
            deepspeed(10_000, 4, [], gpus=8),
            ["DIST001: deepspeed starts 4 processes in each Pod, so 4 of its 8 GPUs are idle"],
        ),
        (deepspeed(2, 2, []), []),
    ],
)
def test_processes_and_gpus(job: Data, expected: list[str]) -> None:
    assert said(job) == expected


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (pytorch(4, 0, f"torchrun --nnodes=$WORLD_SIZE {JOIN} a.py"), []),
        (pytorch(4, 0, f"torchrun --nnodes=$NODES {JOIN} a.py"), []),
        (
            pytorch(4, 0, f"torchrun --nnodes=5:8 {JOIN} a.py"),
            ["DIST002: torchrun waits for 5 to 8 nodes, but the job has 4 Pods"],
        ),
        (pytorch(2, 0, "torchrun a.py; torchrun b.py"), []),
        (
            pytorch(2, 0, "torchrun --nnodes=1 a.py"),
            ["DIST007: each of the 2 Pods trains a separate model, because torchrun has --nnodes=1"],
        ),
    ],
)
def test_nodes_and_pods(job: Data, expected: list[str]) -> None:
    assert said(job) == expected


def test_the_image_may_start_a_node() -> None:
    job = generic(
        {"one": 1, "two": 3}, "torchrun --nnodes=4 --rdzv_backend=c10d --rdzv_endpoint=head:29400 a.py"
    )
    assert said(job) == []
    job["spec"]["replicaSpecs"][1]["template"]["spec"]["containers"][0].pop("command")
    job["spec"]["replicaSpecs"][1]["template"]["spec"]["containers"][0].pop("args", None)
    assert said(job) == []
    job["spec"]["replicaSpecs"][1]["replicas"] = 2
    assert said(job) == ["DIST002: torchrun waits for 4 nodes, but the job has 1 Pod"]


def test_types_that_train_apart() -> None:
    job = generic({"one": 2, "two": 2}, "")
    for spec in job["spec"]["replicaSpecs"]:
        host = f"$(service.{spec['type']}[0].host)"
        line = f"torchrun --nnodes=2 --node_rank=$(rank) --master_addr={host} a.py"
        spec["template"]["spec"]["containers"][0]["command"][2] = line
    assert said(job) == []


@pytest.mark.parametrize(
    ("types", "rank", "expected"),
    [
        ({"worker": 4}, "--node_rank=$(rank)", []),
        ({"worker": 4}, "--node_rank=0", ["DIST003: all 4 Pods of worker have node rank 0"]),
        (
            {"worker": 2, "late": 2},
            "--node_rank=$(rank)",
            ["DIST003: a Pod of worker and one of late both have node rank 0"],
        ),
        ({"worker": 4}, "--node_rank=${HOSTNAME##*-}", []),
        ({"worker": 10_000}, "--node_rank=$(rank)", []),
    ],
)
def test_ranks(types: dict[str, int], rank: str, expected: list[str]) -> None:
    line = f"torchrun --nnodes={sum(types.values())} {rank} {STATIC} a.py"
    assert said(generic(types, line)) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--include=train-worker-9999:0"],
            ["DS005: --include limits deepspeed to 1 worker of 10000: the others stay idle"],
        ),
        (
            ["--include=train-worker-10000"],
            [
                "DS001: --include names train-worker-10000, which is not in the hostfile "
                "(train-worker-0 to train-worker-9999)",
                "DS005: --include limits deepspeed to 1 worker of 10000: the others stay idle",
            ],
        ),
        (
            ["--exclude=train-worker-7:3"],
            [
                "DS004: --exclude leaves hosts with 3 and 4 slots: "
                "on some of them local rank 0 is not the first rank"
            ],
        ),
        (["--num_nodes=10000"], []),
    ],
)
def test_hosts_of_ten_thousand_workers(options: list[str], expected: list[str]) -> None:
    assert sorted(said(deepspeed(10_000, 4, options))) == expected


def test_a_name_with_a_suffix_is_not_the_short_one() -> None:
    lines = [pod_hosts.HostfileHosts(Indexed(("train-1a2b3-worker-", 0, " slots=8\n")), 0, 4, 8)]
    assert pod_hosts.find_hostfile_hosts(lines, "train-1a2b3-worker-3") is lines[0]
    assert pod_hosts.find_hostfile_hosts(lines, "train-worker-3") is None
    assert pod_hosts.find_hostfile_hosts(lines, "train-1a2b3-worker-4") is None


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("train-w-0.nlp.svc.cluster.local", "train-w-0"),
        ("train-w-0.nlp", "train-w-0"),
        ("train-w-0", "train-w-0"),
        ("train-w-0.example.com", "train-w-0.example.com"),
        ("10.0.0.1", "10.0.0.1"),
    ],
)
def test_short_names(host: str, name: str) -> None:
    assert pod_hosts.strip_cluster_domain(host) == name


@pytest.mark.parametrize(
    ("host", "loopback", "address"),
    [
        ("localhost", True, False),
        ("127.0.1.1", True, False),
        ("10.0.0.1", False, True),
        ("::1", True, False),
        ("fe80::1", False, True),
        ("worker-0", False, False),
    ],
)
def test_kinds_of_hosts(host: str, loopback: bool, address: bool) -> None:
    assert (pod_hosts.is_loopback(host), pod_hosts.is_address(host)) == (loopback, address)


KINDS = ("GenericJob", "DeepSpeedJob", "ColossalAIJob", "PyTorchTrainingJob")
FIELDS = ("successRules", "service", "replicaSpecs", "config", "worker", "torchConfig", "torchrunConfig")
ODD: tuple[Any, ...] = (None, 7, "x", [], {}, [None], [[]], [{"type": 3}], {"a": {"b": 1}})


@each_row(("kind", "field", "odd"), product(KINDS, FIELDS, ODD))
def test_odd_values_are_passed_over(kind: str, field: str, odd: Any) -> None:
    specs = [{"type": "worker", "replicas": 2, "template": template(2, ["torchrun", "--nnodes=2", "a.py"])}]
    job = cr(
        kind, {"replicaSpecs": specs, "worker": {"replicas": 2, "template": template(2, [])}, field: odd}
    )
    findings({"object": job}, "DIST001")
