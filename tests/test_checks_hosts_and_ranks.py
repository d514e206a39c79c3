"""Addresses that mean another Pod in each Pod, local ranks for all processes, and folders of others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policy_examples import findings

Data = dict[str, Any]
GPUS = {"limits": {"cpu": 8, "memory": "64Gi", "nvidia.com/gpu": 2}}


def cr(kind: str, spec: Data, name: str = "train") -> Data:
    metadata = {"name": name, "namespace": "nlp"}
    return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}


def job(kind: str, line: str, replicas: int = 2, env: list[Data] | None = None, **resources: Any) -> Data:
    main = {
        "name": "train",
        "image": "train:1",
        "command": ["bash", "-c", line],
        "env": env or [],
        "resources": resources or GPUS,
    }
    role = {"type": "worker", "replicas": replicas, "template": {"spec": {"containers": [main]}}}
    service = {"service": {"ports": [{"name": "rdzv", "port": 29500}]}} if kind == "GenericJob" else {}
    return cr(kind, {"replicaSpecs": [role], **service})


def said(given: Data, code: str) -> list[str]:
    return [found.message for found in findings({"object": given}, code) if found.rule == code]


IP = [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
NAME = [{"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
LABEL = [{"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['master']"}}}]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("export MASTER_ADDR=localhost; python train.py", True),
        ("MASTER_ADDR=127.0.0.1 python train.py", True),
        ("export MASTER_ADDR=$(hostname -i)\nexec python train.py", True),
        ('export MASTER_ADDR="$(hostname)"; python train.py', True),
        ("MASTER_ADDR=$HOSTNAME; export MASTER_ADDR; python train.py", True),
        ("export MASTER_ADDR=$POD_IP; python train.py", True),
        ("export MASTER_ADDR=other-worker-0; python train.py", True),
        ("python train.py", False),
        ("export MASTER_ADDR=train-worker-0; python train.py", False),
        ("export MASTER_ADDR=localhost WORLD_SIZE=1 RANK=0; python train.py", False),
        ("if [ $RANK = 0 ]; then export MASTER_ADDR=localhost; fi; python train.py", False),
        ("if [ $RANK = 0 ]; then MASTER_ADDR=$(hostname -i); fi; python train.py", False),
        ("[ $RANK = 0 ] && MASTER_ADDR=$(hostname -i); python train.py", False),
        ("export MASTER_ADDR=$(getent hosts $MASTER_ADDR | cut -d' ' -f1); python train.py", False),
        ("export MASTER_ADDR=localhost; torchrun --standalone train.py", False),
    ],
)
def test_a_script_that_replaces_the_address_of_rank_0(line: str, found: bool) -> None:
    assert bool(said(job("PyTorchTrainingJob", line, env=IP), "DIST004")) is found
    assert not said(job("PyTorchTrainingJob", line, replicas=1, env=IP), "DIST004")


@pytest.mark.parametrize(
    ("host", "env", "found"),
    [
        ("$(POD_IP)", IP, True),
        ("$POD_IP", IP, True),
        ("${POD_IP}", IP, True),
        ("$(ME)", NAME, True),
        ("$(hostname -i)", [], True),
        ("`hostname`", [], True),
        ("$HOSTNAME", [], True),
        ("$(service.worker[0].host)", [], False),
        ("$(ME)", LABEL, False),
        ("$RDZV_HOST", [], False),
        ("$(cat /shared/master)", [], False),
        ("qwen-worker-0", [], True),
        ("qwen-worker-0.nlp.svc.cluster.local", [], True),
        ("train-0a1b2-worker-0", [], False),
        ("store.rendezvous.svc", [], False),
        ("etcd-0", [], False),
    ],
)
def test_a_launcher_that_meets_at_the_wrong_pod(host: str, env: list[Data], found: bool) -> None:
    c10d = f"torchrun --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint={host}:29500 train.py"
    static = f"torchrun --nnodes=2 --node_rank=$(rank) --nproc_per_node=2 --master_addr={host} train.py"
    assert bool(said(job("GenericJob", c10d, env=env), "DIST004")) is found
    assert bool(said(job("GenericJob", static, env=env), "DIST004")) is found


@pytest.mark.parametrize(
    ("before", "host", "found"),
    [
        ("HEAD=$(hostname -i)", "$HEAD", True),
        ("export HEAD=$POD_IP", "${HEAD}", True),
        ("ME=$HOSTNAME; HEAD=$ME", "$HEAD", True),
        ("HEAD=train-worker-0", "$HEAD", False),
        ("HEAD=$(getent hosts train-worker-0)", "$HEAD", False),
        ("HEAD=$(hostname -i); HEAD=train-worker-0", "$HEAD", False),
        ("if [ $RANK = 0 ]; then HEAD=$(hostname -i); fi", "$HEAD", False),
    ],
)
def test_a_shell_variable_that_names_the_pod_itself(before: str, host: str, found: bool) -> None:
    c10d = f"torchrun --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint={host}:29500 train.py"
    assert bool(said(job("GenericJob", f"{before}\n{c10d}", env=IP), "DIST004")) is found


def test_a_variable_of_torchrun_that_names_the_pod_itself() -> None:
    c10d = "torchrun --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d train.py"
    for field, found in (("status.podIP", True), ("metadata.labels['master']", False)):
        env = [{"name": "PET_RDZV_ENDPOINT", "valueFrom": {"fieldRef": {"fieldPath": field}}}]
        assert bool(said(job("GenericJob", c10d, env=env), "DIST004")) is found


def test_rank_0_meets_the_others_at_its_own_address() -> None:
    line = "torchrun --nnodes=3 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint={}:29500 train.py"
    given = job("GenericJob", line.format("$(service.head[0].host)"))
    worker = given["spec"]["replicaSpecs"][0]
    head_container = {
        **worker["template"]["spec"]["containers"][0],
        "command": ["bash", "-c", line.format("$(hostname)")],
    }
    head = {"type": "head", "replicas": 1, "template": {"spec": {"containers": [head_container]}}}
    given["spec"]["replicaSpecs"].append(head)
    assert not said(given, "DIST004")
    head["replicas"] = 2
    assert said(given, "DIST004")


def deepspeed(arguments: list[str], other: list[str] | None = None, slots: int = 2) -> Data:
    config = {"slotsPerWorker": slots, "run": {"python": ["train.py", *arguments]}, "otherArgs": other or []}
    worker = {"name": "worker", "image": "deepspeed:1", "resources": GPUS}
    return cr("DeepSpeedJob", {"config": config, "worker": {"template": {"spec": {"containers": [worker]}}}})


def custom(command: str) -> Data:
    given = deepspeed([])
    given["spec"]["config"] = {"slotsPerWorker": 2, "customCommand": command}
    return given


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (custom("deepspeed --hostfile=/t9k/hostfile train.py --local_rank 0"), True),
        (custom("torchrun --standalone --nproc_per_node=2 train.py --local_rank 0"), True),
        (custom("deepspeed --hostfile=/t9k/hostfile train.py"), False),
        (deepspeed(["--local_rank=0"]), True),
        (deepspeed(["--local_rank", "-1"]), True),
        (deepspeed(["--local-rank=0"], ["--no_local_rank"]), True),
        (deepspeed(["--local_rank=0"], slots=1), False),
        (deepspeed(["--local_world_size=2"]), False),
        (job("GenericJob", "torchrun --standalone --nproc_per_node=2 a.py --local_rank=0"), True),
        (job("GenericJob", "torchrun --standalone --nproc_per_node=2 a.py --local_rank $LOCAL_RANK"), True),
        (job("GenericJob", "torchrun --standalone --nproc_per_node=2 a.py --local_rank=-1"), False),
        (job("GenericJob", "torchrun --standalone --nproc_per_node=1 a.py --local_rank=0"), False),
        (
            job("GenericJob", "python -m torch.distributed.launch --nproc_per_node=2 a.py --local_rank=-1"),
            True,
        ),
        (job("GenericJob", "accelerate launch --num_processes 2 a.py --local_rank=0"), True),
        (job("GenericJob", "mpirun -np 2 python a.py --local_rank=0"), True),
        (job("GenericJob", "python a.py --local_rank=0"), False),
        (job("GenericJob", "torchrun --standalone --nproc_per_node=2 a.py --local_rank=auto"), False),
    ],
)
def test_a_local_rank_for_all_processes(given: Data, found: bool) -> None:
    assert bool(said(given, "DIST017")) is found


@pytest.mark.parametrize(
    ("line", "slices", "found"),
    [
        ("torchrun --standalone --nproc_per_node=2 a.py", 2, True),
        ("torchrun --standalone --nproc_per_node=2 a.py", 1, True),
        ("torchrun --standalone --nproc_per_node=1 a.py", 1, False),
        ("torchrun --standalone --nproc_per_node=1 a.py", 2, True),
        ("CUDA_VISIBLE_DEVICES=$A torchrun --standalone --nproc_per_node=2 a.py", 2, False),
        ("torchrun --standalone --nproc_per_node=gpu a.py", 2, False),
    ],
)
def test_slices_are_no_gpus(line: str, slices: int, found: bool) -> None:
    limits = {"cpu": 8, "memory": "64Gi", "nvidia.com/mig-1g.10gb": slices}
    given = job("PyTorchTrainingJob", line, 1, limits=limits)
    assert bool(said(given, "DIST016")) is found
    assert not said(given, "DIST001")
    assert not said(given, "DIST005")


def colossalai(script: str, launcher: Data, worker: Data) -> Data:
    claim = {"name": "code", "persistentVolumeClaim": {"claimName": "code"}}
    roles = []
    for type_, own in (("launcher", launcher), ("worker", worker)):
        spec = {"containers": [{"name": type_, "image": "a:1", **own}], "volumes": [claim]}
        roles.append({"type": type_, "template": {"spec": spec}})
    return cr(
        "ColossalAIJob", {"torchConfig": {"procPerWorker": 1, "script": [script]}, "replicaSpecs": roles}
    )


MOUNTED = {"volumeMounts": [{"name": "code", "mountPath": "/code"}]}


@pytest.mark.parametrize(
    ("script", "launcher", "worker", "found"),
    [
        ("train.py", {"workingDir": "/workspace"}, {"workingDir": "/code", **MOUNTED}, True),
        ("src/train.py", {}, {"workingDir": "/code/a", **MOUNTED}, True),
        ("/code/train.py", {"workingDir": "/workspace"}, {"workingDir": "/code", **MOUNTED}, False),
        ("train.py", {"workingDir": "/code"}, {"workingDir": "/code", **MOUNTED}, False),
        ("train.py", {"workingDir": "/code/"}, {"workingDir": "/code", **MOUNTED}, False),
        ("train.py", {"workingDir": "/workspace"}, {"workingDir": "/code"}, False),
        ("train.py", {"workingDir": "/code/b"}, {"workingDir": "/code/a", **MOUNTED}, False),
        ("train.py", {"workingDir": "/workspace"}, MOUNTED, False),
    ],
)
def test_a_script_in_the_folder_of_the_workers(
    script: str, launcher: Data, worker: Data, found: bool
) -> None:
    assert bool(said(colossalai(script, launcher, worker), "CA009")) is found


def kept_out(name: str) -> Data:
    given = deepspeed([])
    given["spec"]["disableCustomEnv"] = True
    given["spec"]["worker"]["replicas"] = 2
    given["spec"]["worker"]["template"]["spec"]["containers"][0]["env"] = [{"name": name, "value": "1"}]
    return given


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("TZ", "SSH015"),
        ("ENTRYPOINT_UMASK", "SSH015"),
        ("OMP_NUM_THREADS", "SSH001"),
        ("TOKENIZERS_PARALLELISM", "SSH001"),
        ("WANDB_MODE", "SSH001"),
        ("MODEL_DIR", "SSH001"),
        ("HF_HOME", "SSH005"),
        ("NVIDIA_VISIBLE_DEVICES", ""),
        ("MLFLOW_TRACKING_URI", ""),
    ],
)
def test_what_disable_custom_env_keeps_out_is_told_once(name: str, code: str) -> None:
    for one in ("SSH001", "SSH005", "SSH015"):
        assert bool(said(kept_out(name), one)) is (one == code)


def test_an_abbreviation_is_an_error_only_where_every_version_refuses_it() -> None:
    before = job("GenericJob", "torchrun --standalone --log=/x --nproc_per_node=2 a.py", 1)
    behind = job("GenericJob", "torchrun --standalone --nproc_per_node=2 a.py --logs=/runs", 1)
    assert (bool(said(before, "TORCH001")), bool(said(before, "TORCH005"))) == (True, False)
    assert (bool(said(behind, "TORCH001")), bool(said(behind, "TORCH005"))) == (False, True)
