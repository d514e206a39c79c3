"""Mistakes in the many forms that people give them, and clean jobs: what the default rules say of each."""

from __future__ import annotations

from typing import Any

import pytest

from tests.job_variants import (
    MEET,
    Job,
    by_hand,
    changed,
    colossalai,
    container,
    deepspeed,
    elastic,
    generic,
    pytorch,
    said,
    started,
    template,
    torchrun,
)
from tests.rows import each_row

JSON = '--cfg={"lr":1}'
RUN = "deepspeed --hostfile=/t9k/hostfile "


def in_shell(line: str, **more: Any) -> Job:
    return pytorch("bash", "-lc", line, **more)


def alone(*command: str, **more: Any) -> Job:
    return pytorch(*command, n=1, **more)


def hand_over(*options: str, **more: Any) -> Job:
    """torchrun in a GenericJob that is told its first host."""
    first = "--master_addr=$(service.worker[0].host)"
    line = ("torchrun", "--nnodes=2", "--nproc_per_node=4", *options, first, "--master_port=29500")
    return generic(*line, "train.py", **more)


def behind(*command: str) -> Job:
    """Return a job whose training is the second container of the Pod, behind one that runs a command."""
    first = {**container("logs", 0, command=list(command)), "volumeMounts": []}
    pod = template(first, container("train", 1, command=["python", "train.py"]))
    job = pytorch("python", "train.py", gpus=1)
    return changed(job, {"spec": {"replicaSpecs": {"0": {"template": pod}}}})


CLEAN = {
    "torchrun of the controller": started(),
    "processes by GPUs": started({"procPerNode": "gpu", "maxRestarts": 3}),
    "elastic": elastic(2, 8, 4),
    "one process each": pytorch("python", "train.py", gpus=1),
    "in a string of the shell": in_shell("python train.py --lr=0.1", gpus=1),
    "torchrun as the command": torchrun("--nnodes=2", *MEET),
    "torchrun in a string": in_shell(
        "torchrun --nnodes $WORLD_SIZE --node_rank $RANK --nproc_per_node 4 --master_addr $MASTER_ADDR "
        "--master_port $MASTER_PORT train.py"
    ),
    "torchrun by variables": torchrun("--nnodes=2", MEET[1], env={"PET_RDZV_BACKEND": "c10d"}),
    "between bounds": torchrun("--nnodes=1:8", *MEET),
    "debug": pytorch("python", "train.py", runMode={"debug": {"enabled": True}}),
    "pause and resume": started(
        runMode={"pause": {"enabled": True, "resumeSpecs": [{"type": "worker", "args": ["train.py", "-r"]}]}}
    ),
    "deepspeed": deepspeed("train.py", "--epochs=3"),
    "deepspeed on one worker": deepspeed("train.py", JSON, n=1),
    "deepspeed with its address": deepspeed(other=["--master_addr=train-worker-0"]),
    "deepspeed with variables": deepspeed(env={"NCCL_DEBUG": "INFO", "WANDB_MODE": "offline"}),
    "deepspeed without an env file": deepspeed(env={"PYTHONPATH": "/x"}, disableCustomEnv=True),
    "deepspeed by hand": by_hand(RUN + "--no_local_rank train.py --x 1"),
    "deepspeed debug": deepspeed(runMode={"debug": {"enabled": True}}),
    "colossalai": colossalai("train.py", "--epochs=3"),
    "colossalai, old": colossalai("train.py", "--epochs=3", old=True),
    "colossalai with loaders": colossalai("train.py", "--num_workers=4"),
    "colossalai with variables": colossalai(env={"NCCL_DEBUG": "INFO"}, sent={"NCCL_DEBUG": "INFO"}),
    "colossalai, quoted by hand": colossalai("train.py", f"'{JSON}'"),
    "colossalai, quoted value": colossalai("train.py", "--cfg='{\"lr\":1}'", old=True),
    "generic": generic("python", "train.py", gpus=1, service=None),
    "generic torchrun": hand_over("--node_rank=$(rank)"),
    "generic accelerate": generic(
        *("accelerate", "launch", "--num_machines=2", "--num_processes=8", "--machine_rank=$(rank)"),
        *("--main_process_ip=$(service.worker[0].host)", "--main_process_port=29500", "train.py"),
    ),
    "a container in front": behind("ship", "/log"),
}

MISTAKES = {
    # Processes beside GPUs.
    "python -m": (alone("python", "-m", "torch.distributed.run", "--nproc_per_node", "2", "a.py"), "DIST001"),
    "launch": (alone("python3", "-m", "torch.distributed.launch", "--nproc_per_node=2", "a.py"), "DIST001"),
    "sh -c": (alone("sh", "-c", "cd /w && torchrun --nproc_per_node=2 a.py"), "DIST001"),
    "bash -ec": (
        alone("/bin/bash", "-ec", "set -xo pipefail; exec torchrun --nproc-per-node 2 a.py | tee l"),
        "DIST001",
    ),
    "lines": (alone("bash", "-c", "torchrun \\\n --nproc_per_node 2 \\\n a.py"), "DIST001"),
    "env": (alone("env", "OMP_NUM_THREADS=4", "torchrun", "--nproc_per_node=2", "a.py"), "DIST001"),
    "env -S": (alone("env", "-S", "torchrun --nproc_per_node=2 a.py"), "DIST001"),
    "timeout": (alone("timeout", "1h", "torchrun", "--nproc_per_node=2", "a.py"), "DIST001"),
    "conda": (alone("conda", "run", "-n", "x", "torchrun", "--nproc_per_node=2", "a.py"), "DIST001"),
    "a variable": (alone("torchrun", "--nproc_per_node=$(N)", "a.py", env={"N": "2"}), "DIST001"),
    "PET_": (alone("torchrun", "a.py", env={"PET_NPROC_PER_NODE": "2"}), "DIST001"),
    "accelerate": (alone("accelerate", "launch", "--num_processes=2", "a.py"), "DIST001"),
    "deepspeed": (alone("deepspeed", "--num_gpus", "2", "a.py"), "DIST001"),
    "mpirun": (alone("mpirun", "-np", "2", "python", "a.py"), "DIST001"),
    "python": (alone("/opt/conda/bin/python3.10", "-u", "a.py", "--lr", "0.1"), "DIST001"),
    "a module": (in_shell("pip install x && python -m pkg.train"), "DIST001"),
    "too many": (generic("bash", "-lc", "torchrun --standalone --nproc_per_node 8 a.py", n=1), "DIST005"),
    "too many by accelerate": (
        alone("accelerate", "launch", "--multi_gpu", "--num_processes", "8", "a.py"),
        "DIST005",
    ),
    "too many by deepspeed": (deepspeed(other=["--num_gpus=8"]), "DIST005"),
    "gpu of none": (alone("torchrun", "--nproc_per_node=gpu", "a.py", gpus=0), "DIST006"),
    # Nodes, ranks, hosts.
    "nodes": (torchrun("--nnodes", "4", *MEET), "DIST002"),
    "nodes by PET_": (torchrun(*MEET, env={"PET_NNODES": "3"}), "DIST002"),
    "nodes beyond bounds": (torchrun("--nnodes=3:8", *MEET), "DIST002"),
    "no number of nodes": (torchrun(*MEET), "DIST007"),
    "standalone": (torchrun("--standalone"), "DIST007"),
    "no rank": (torchrun("--nnodes=2", "--master_addr=$(MASTER_ADDR)"), "DIST003"),
    "one rank": (torchrun("--nnodes=2", "--node-rank=0", "--master-addr=$(MASTER_ADDR)"), "DIST003"),
    "one rank by PET_": (
        torchrun("--nnodes=2", "--master_addr=$(MASTER_ADDR)", env={"PET_NODE_RANK": "0"}),
        "DIST003",
    ),
    "one rank of a GenericJob": (hand_over(), "DIST003"),
    "no endpoint": (torchrun("--nnodes=2", "--rdzv_backend=c10d"), "DIST004"),
    "an address for c10d": (torchrun("--nnodes=2", MEET[0], "--master_addr=$(MASTER_ADDR)"), "DIST004"),
    "elastic without an endpoint": (torchrun("--nnodes=1:4", "--rdzv_backend=c10d"), "DIST004"),
    "localhost": (torchrun("--nnodes=2", MEET[0], "--rdzv_endpoint=localhost:29500"), "DIST004"),
    "no address": (torchrun("--nnodes=2", "--node_rank=$(RANK)"), "DIST004"),
    "the second worker": (
        torchrun("--nnodes=2", "--node_rank=$(RANK)", "--master_addr=train-worker-1"),
        "DIST004",
    ),
    "the second worker of deepspeed": (deepspeed(other=["--master_addr", "train-worker-1"]), "DIST004"),
    "an IP address": (torchrun("--nnodes=2", MEET[0], "--rdzv_endpoint=10.1.2.3:29500"), "DIST009"),
    "a worker too many": (torchrun("--nnodes=2", MEET[0], "--rdzv_endpoint=train-worker-2"), "DIST010"),
    "no rank for accelerate": (
        pytorch(
            *("accelerate", "launch", "--num_machines=2", "--num_processes=8"),
            *("--main_process_ip=$(MASTER_ADDR)", "--main_process_port=$(MASTER_PORT)", "a.py"),
        ),
        "DIST012",
    ),
    # What launchers refuse, and what they pass over.
    "conf": (started({"extraOptions": ["--rdzv_conf=timeout"]}), "TORCH001"),
    "conf by PET_": (started(env={"PET_RDZV_CONF": "a=1,"}), "TORCH001"),
    "an empty flag": (torchrun("--nnodes=2", *MEET, env={"PET_STANDALONE": ""}), "TORCH001"),
    "a port": (torchrun("--nnodes=2", MEET[0], "--rdzv_endpoint=$(MASTER_ADDR):99999"), "TORCH001"),
    "nodes twice": (started({"extraOptions": ["--nnodes=4"]}), "TORCH002"),
    "a hostfile": (deepspeed(other=["--hostfile=/x"]), "DS001"),
    "cores": (deepspeed(other=["--bind_core_list=0-3"]), "DS001"),
    "an unknown option": (deepspeed(other=["--nope"]), "DS001"),
    "a stray word": (deepspeed(other=["stray"]), "DS001"),
    "an unknown slot": (deepspeed(other=["-i", "train-worker-0:3,4@train-worker-1:0,1"]), "DS001"),
    "mpich": (by_hand(RUN + "--launcher mpich train.py"), "DS002"),
    "one of two": (deepspeed(other=["--num_nodes", "1"]), "DS005"),
    "one excluded": (deepspeed(other=["--exclude=train-worker-1"]), "DS005"),
    "no hostfile": (by_hand("deepspeed train.py"), "DS006"),
    "nodes that are not there": (by_hand(RUN + "--num_nodes 4 train.py"), "DS007"),
    "a shell script": (colossalai("train.sh"), "CA001"),
    "python before the script": (colossalai("python", "train.py", old=True), "CA001"),
    "two equal signs": (colossalai(extra=["--rdzv_conf=a=b"]), "CA004"),
    # Over ssh.
    "a variable of the workers": (colossalai(env={"WANDB_MODE": "offline"}), "SSH001"),
    "a proxy of the workers": (colossalai(env={"https_proxy": "http://p:1"}, old=True), "SSH005"),
    "a cache without an env file": (deepspeed(env={"HF_HOME": "/c"}, disableCustomEnv=True), "SSH005"),
    "a rank of the workers": (colossalai(env={"WORLD_SIZE": "8"}), "CR009"),
    "lines in a variable": (deepspeed(env={"A": "x\ny"}), "SSH002"),
    "a quote in a variable": (colossalai(sent={"A": 'say "x"'}, old=True), "SSH002"),
    "a name with a dot": (deepspeed(env={"A.B": "x"}), "SSH002"),
    "a blank, perhaps": (deepspeed(env={"A": "x y"}, image="registry.example.com/nlp/a:1"), "SSH006"),
    "a blank, before 0.15.2": (
        deepspeed(env={"A": "x y"}, image="registry.example.com/nlp/deepspeed:0.14.2"),
        "SSH002",
    ),
    "JSON": (deepspeed("train.py", JSON), "SSH003"),
    "JSON for one worker": (colossalai("train.py", JSON, n=1), "SSH003"),
    "JSON by hand": (by_hand(RUN + f"train.py '{JSON}'"), "SSH003"),
    "two words": (colossalai("train.py", "--name=x y", old=True), "SSH003"),
    "two words, perhaps": (deepspeed("train.py", "--p=x y", image="registry.example.com/nlp/a:1"), "SSH007"),
    "a variable as an argument": (deepspeed("train.py", "$HOME/x"), "SSH012"),
    "another user": (colossalai(pod={"securityContext": {"runAsNonRoot": True}}), "SSH004"),
    # The CR, and the life of the job.
    "a rank": (pytorch("python", "train.py", gpus=1, env={"RANK": "0"}), "CR002"),
    "an option by PET_": (started(env={"PET_NNODES": "4"}), "CR009"),
    "a run id": (started(env={"TORCHELASTIC_RUN_ID": "1"}), "CR009"),
    "fewer than the least": (elastic(5, 8, 4), "LIFE002"),
    "more than the most": (elastic(1, 3, 4), "LIFE002"),
    "elastic without torchrun": (
        pytorch("python", "train.py", gpus=1, elastic=elastic(1, 4, 2)["spec"]["elastic"]),
        "LIFE007",
    ),
    "a container in front that never ends": (behind("tail", "-F", "/log"), "LIFE021"),
    "workers for ever": (colossalai(runPolicy={}), "LIFE003"),
    "a queue and another scheduler": (started(pod={"schedulerName": "volcano"}), "SCHED003"),
    # Rules and variables of a GenericJob.
    "an unknown type": (
        generic("python", "a.py", gpus=1, successRules=[{"master": [0]}]),
        "GEN001",
    ),
    "a rank too many": (generic("python", "a.py", gpus=1, failureRules=[{"worker": ["2"]}]), "GEN001"),
    "a host without a Service": (
        generic("python", "a.py", "$(service.worker[0].host)", gpus=1, service=None),
        "GEN002",
    ),
    "a port without a name": (generic("python", "a.py", "$(service.port[http])", gpus=1), "GEN002"),
    "no rules": (generic("python", "a.py", gpus=1, successRules=[]), "GEN005"),
    "a wait without an end": (
        generic("bash", "-c", "until nslookup x; do sleep 2; done; python a.py", gpus=1),
        "GEN003",
    ),
    # The network.
    "a port of outgoing connections": (deepspeed(other=["--master_port", "40000"]), "NET005"),
    "such a port in a string": (
        in_shell(
            "torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$RANK --master_addr=$MASTER_ADDR "
            "--master_port 40000 a.py"
        ),
        "NET005",
    ),
    "an interface of the node": (started(env={"NCCL_SOCKET_IFNAME": "ib0,ib1"}), "NET006"),
}


@pytest.mark.parametrize("job", CLEAN.values(), ids=CLEAN)
def test_a_clean_job_is_left_in_peace(job: Job) -> None:
    assert said(job) == set()


@each_row(("job", "rule"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_found_whatever_its_form(job: Job, rule: str) -> None:
    # A written name of a replica lacks the suffix of the controller besides.
    assert said(job) - {"DIST079"} == {rule}
