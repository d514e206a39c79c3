"""Records how the real launchers parse command lines; writes the answers to fixtures/launchers/*.jsonl.

The tests only read the files. To regenerate them, in a separate virtual environment (torch is large; its CPU
build is enough, and deepspeed needs no compiled operators):

python -m venv /tmp/launchers
    /tmp/launchers/bin/pip install torch==2.13.0 numpy setuptools wheel accelerate==1.15.0
    DS_BUILD_OPS=0 /tmp/launchers/bin/pip install --no-build-isolation deepspeed==0.19.8
    /tmp/launchers/bin/pip install --no-build-isolation --no-deps colossalai==0.5.0 && pip install fabric
    /tmp/launchers/bin/python tests/launcher_answers.py torchrun deepspeed accelerate colossalai

Each line is one object: the input ``words`` and ``env``, whether the launcher ``accepted`` them, and the
parsed values. No process is started: the call that would start one is replaced by one that records its
arguments. The machine pretends to have 8 GPUs, and the hostfile has two hosts, for deepspeed with 4 slots.
For colossalai the values are the hosts that it sends a command to, and the words of torchrun on the first of
them.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shlex
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

FIXTURES = Path(__file__).parent.parent / "fixtures" / "launchers"
Case = tuple[list[str], dict[str, str]]
Answer = dict[str, Any]


class Started(Exception):
    """Raised in place of starting a process; has the arguments of the start."""


TORCHRUN_OPTIONS = """
--nnodes=2|--nnodes 2|--nnodes=1:4|--nnodes=4:1|--nnodes=0|--nnodes=0:2|--nnodes=1:2:3|--nnodes=|
--nnodes=two|--nnodes 2:|--nn 2|--nno=3|--n 2|--no 2|--nnodes -1|--nnodes=-1|--nnodes|
--nnodes=2 --nnodes=3|--nnodes=+2|--nproc-per-node 4|--nproc_per_node=4|--nproc_per_node=gpu|
--nproc-per-node auto|--nproc_per_node=cpu|--nproc_per_node=all|--nproc_per_node=GPU|--nproc_per_node=|
--nproc_per_node=1.5|--nproc 4|--nproc_per 4|--nproc-per=4|--nprocs=4|--nproc_per_node=0|
--nproc_per_node=-1|--nproc_per_node 1_0|--rdzv_backend=c10d|--rdzv-backend c10d|--rdzv_backend=static|
--rdzv_backend c10d --nnodes 2|--rdzv-b=c10d|--rdzv_backend=etcd-v2 --rdzv_endpoint=e|
--rdzv_backend=etcd --rdzv_endpoint=e|--rdzv_back c10d|--rdzv=c10d|--rdzv_endpoint=host-0:29500|
--rdzv_endpoint=host-0|--rdzv-endpoint host-0:x|--rdzv_endpoint=host-0:70000|--rdzv_endpoint=:29500|
--rdzv_endpoint=host-0:|--rdzv_endpoint=[::1]:29500|--rdzv_endpoint=[::1]|--rdzv_endpoint=::1:29500|
--rdzv_endpoint=http://h:1|--rdzv_endpoint=a_b:1|--rdzv_endpoint=h:65536|--rdzv_endpoint=h:65535|
--rdzv_endpoint=h:000080|--rdzv_backend=c10d --rdzv_endpoint=h|--rdzv_endpoint=|--rdzv_id=7|
--rdzv_conf=a=1|--rdzv_conf=a=1,b=2|--rdzv_conf=a=1,|--rdzv_conf=,|--rdzv_conf=a|--rdzv_conf=a=|
--rdzv_conf==1|--rdzv_conf=a=b=c|"--rdzv_conf= "|--rdzv_conf a=1,,b=2|
--rdzv_conf=timeout=900,read_timeout=60|--standalone|--stand|--standalone=1|--standalone --nnodes=2|
--standalone --rdzv_backend=static|--max_restarts=3|--max-restarts 0|--max_restarts=-1|--max_restarts -1|
--max_restarts=x|--max-r 3|--max_restarts|--monitor_interval=5|--monitor_interval=.5|
--monitor_interval x|--monitor_interval=1e3|--monitor_interval=nan|--start_method=fork|
--start-method forkserver|--start_method=thread|--role trainer|--role=|--ro x|-m|--module|-m -m|
--no_python|--no-python|-m --no-python|--run_path|--run-path|-mx|--module=1|--no 1|--mod|--log_dir=/l|
--log-dir /l|-r 3|-r3|-r=3|--redirects 0|-t 3|-t3|--tee=3|--tee 3|-r|
--tee=4|--tee=|--tee=0:3,1:0|--tee=0:3,|--redirects=x|--redirects 1:4|--local_ranks_filter=0|
--local_ranks_filter 0,1|--local-ranks-filter=x|--local-rank=0|--local_rank 0|--node_rank=1|
--node-rank 1 --nnodes 2|--node_rank=x|--node_rank=-1|--node_rank $RANK|--node=1|
--master_addr=h --master_port=1234|--master_addr=h|--master_port=1234|--master-port x|
--master_port=1234 --nnodes=2|--master_addr h --nnodes 2|--master 1|--master_port=99999 --nnodes=2|
--local_addr=1.2.3.4|--event_log_handler=null|--signals_to_handle=SIGTERM|--shutdown_timeout=30|
--shutdown_timeout x|--duplicate_stdout_filters a,b|--virtual_local_rank|--numa_binding=node|
--numa-binding none|--unknown|--unknown=1|--unknown 1|-x|-1|-1.5|--|-- --|-|--use_env|--use-env|-q|
--help|-h|--=x|--nnodes "2 3"|--rdzv_backend=nccl|--rdzv_backend gloo|--rdzv_backend=C10D|--rdzv_backend=|
--rdzv_backend=zeus --standalone|"--rdzv_backend c10d"|"--rdzv_backend=c10d --rdzv_endpoint=h:1"|
"--nnodes=2 --tee=3"|"--tee=3 --nnodes=2"|--rdzv_backend=etcd|--rdzv_backend etcd-v2 --nnodes=2|
--nnodes=1:4 --rdzv_backend=static|--nnodes=4 --standalone
"""
BEHIND = """
train.py|train.py --lr 1|train.py --n 3|train.py --no-cuda|train.py --nnodes 5|train.py -- --x|
train.py --x -- y|train.py --rdzv 1|train.py -m|train.py --mo 2|-- train.py|-- train.py --n|pkg.train -x|
train.py --l 1|train.py -n 1|train.py --batch-size=4 a b|train.py --master x|train.py --role|
train.py --t=1|train.py --standalone -1 - --||"a b.py"
"""
TORCHRUN_ENV: list[dict[str, str]] = [
    {"PET_NNODES": "2"},
    {"PET_NNODES": "2:4", "PET_RDZV_BACKEND": "c10d", "PET_RDZV_ENDPOINT": "h:1"},
    {"PET_NNODES": ""},
    {"PET_NPROC_PER_NODE": "gpu"},
    {"PET_NPROC_PER_NODE": "many"},
    {"PET_MAX_RESTARTS": "3"},
    {"PET_MAX_RESTARTS": "x"},
    {"PET_MAX_RESTARTS": ""},
    {"PET_NODE_RANK": "1", "PET_NNODES": "2"},
    {"PET_NODE_RANK": "x"},
    {"PET_MASTER_ADDR": "h", "PET_MASTER_PORT": "1234", "PET_NNODES": "2"},
    {"PET_MASTER_PORT": ""},
    {"PET_STANDALONE": "1"},
    {"PET_STANDALONE": "0"},
    {"PET_STANDALONE": ""},
    {"PET_STANDALONE": "true"},
    {"PET_MODULE": "1"},
    {"PET_MODULE": "1", "PET_NO_PYTHON": "1"},
    {"PET_RDZV_CONF": "a=1,"},
    {"PET_RDZV_ENDPOINT": "h:x"},
    {"PET_START_METHOD": "thread"},
    {"PET_MONITOR_INTERVAL": "x"},
    {"PET_RDZV_BACKEND": "static", "PET_RDZV_ENDPOINT": "h:29400"},
    {"MASTER_ADDR": "h", "WORLD_SIZE": "4", "NNODES": "4"},
]
# Options before a script; each line also gets --hostfile and --nproc_per_node.
COLOSSALAI_OPTIONS = """
--nproc_per_node 4|--nproc_per_node=x|"--nproc_per_node 2"|--nproc=2|--num_nodes=1|--num_nodes 9|
--num_nodes=-1|--num_nodes=x|--host a,b|-H a|-Ha|-H=a|-host a|--include worker-0|
--exclude=worker-1|--include worker-0 --exclude worker-1|--master_addr h|--master_port=1234|
--master_port x|--ssh-port 22|--ssh_port 22|-m pkg.train|-mpkg|-m train.py|-num_layers|-lm 3|-lr|-lr=1|
--unknown|--unknown=1|--|-|-1|--extra_launch_args=standalone|--extra_launch_args=max_restarts,3|
--extra_launch_args=max_restarts=3|--extra_launch_args local_ranks_filter=0,1|
--extra_launch_args=rdzv_conf=timeout=900|--extra_launch_args=t=3|--extra_launch_args=-t=3|
--extra_launch_args=-t,3|--extra_launch_args=tee=3,tee=0|--extra_launch_args=master_port=1234|
--extra_launch_args=master_addr=h,max_restarts=1|--extra_launch_args=nnodes=1,node_rank=3|
--extra_launch_args=|--extra_launch_args=a,|"--extra_launch_args=role=a b"|
"--extra_launch_args=max_restarts 3"|--extra_launch_args=m|--extra_launch_args=nproc_per_node=|
--extra_launch_args=--standalone|--extra_launch_args|--extra_launch_args=rdzv_backend=c10d,rdzv_endpoint=h:1|
--extra_launch_args=tee=3 --extra_launch_args=redirects=3|--help
"""
COLOSSALAI_BEHIND = """
train.py|train.py --lr 1|train.py --nproc_per_node 4|train.py --host x|train.py -model x|train.py -H|
train.py -- -m x|train|python train.py|"train.py --lr 1"|train.sh|/a/train.py -n 1|
train.py --include=worker-0|train.py -num_epochs 3|train.py --extra_launch_args x|
train.py --master x|train.py -lr 1e-4|train.py "a b"
"""
DEEPSPEED_OPTIONS = """
-H /h|--hostfile=/h|--hostfile /h|-H=/h|-H/h|--host /h|-i worker-0|--include=worker-0:0,1|
--include=worker-0:x|--include=worker-0@worker-1:0|-e worker-1|--exclude=worker-1:0,1,2,3|
--include worker-0 --exclude worker-1|--include= --exclude=worker-1|-i worker-0 --num_gpus 2|
--inc worker-1|-i worker-0 --num_nodes 1|-e worker-0 --num_gpus=0|-i worker-0 --num_nodes=-1|
--include=worker-0:0:1|--num_nodes=1|--num_nodes 2|--num_nodes=x|--num_nodes=-1|--num_nodes 9|
--num_gpus 4|--num_gpus=0|--num_gpus=-1|--num_gpus=8|--num_accelerators 2|--num 2|--num_n 2|--num_g=2|
--num_gpus|--num_gpus 1.5|--num-gpus 4|--master_port=1234|--master_port x|--master_port|--master_addr h|
--master_addr=h|--master h|--master_p 1|--node_rank=0|--no_ssh --node_rank=0|--no_ssh|
--no_ssh --node_rank=-1|--no_ssh_check|--no_s|--launcher pdsh|--launcher=PDSH|
--launcher=slurm --force_multi|--launcher=ssh|--launcher openmpi|--launcher=mpich|
--launcher=mvapich -i worker-0|--launcher=openmpi --num_nodes=1|--launcher=impi|--launcher_args=-x|
--launcher_args "-x"|--launcher_args "-a b"|--launcher=mpich --num_gpus 2|--launch pdsh|--module|
--module=1|--no_python|--no_python --module|--no_local_rank|--no_local|--no_l --module|--modul|
--force_multi|--force|--save_pid|--enable_each_rank_log=/l|--enable_each_rank_log|--autotuning=tune|
--autotuning run|--autotuning=fast|--auto run|--bind_cores_to_rank|--bind_core_list=0-3|--bind 1|
--bind_core 1|--ssh_port=22|--ssh_port x|--venv_script=/a|--log_level=debug|--log_level=loud|-q|--quiet|
-qq|-qH /h|-q=1|--log x|--unknown|--unknown 1|-x 1|--deepspeed|-1|--|-- --|--help|-h|-|
--hostfile=/h --num_nodes=2 --num_gpus=4 --no_local_rank|"--num_gpus 2"|"--num_gpus=2 --num_nodes=1"|
"--master_addr=h --num_gpus=2"
"""
ACCELERATE_OPTIONS = """
--num_processes=8|--num-processes 8|--num_processes=x|--num_proc 8|--num_processes|--num_processes=1_0|
--num_machines=2 --machine_rank=0 --main_process_ip=h --main_process_port=1|--num-machines 2|
--num_machines x|--num_machines=2 --main_process_ip=h|--machine_rank=1|--machine-rank x|
--main_process_ip=h|--main-process-port 1234|--main_process_port=x|--multi_gpu|
--multi-gpu --num_processes 4|--multi_gpu --num_processes=1|--multi_gpu=1|--multi|--cpu|
--cpu --multi_gpu|--tpu --use_fsdp|--use_deepspeed|--use_deepspeed --zero_stage=3|--use_fsdp|--use-fsdp|
--use_fsdp --multi_gpu|--use_parallelism_config|--use_fsdp --fsdp_version=2 --use_parallelism_config|
--fsdp_version 3|--mixed_precision=bf16|--mixed-precision fp32|--mixed_precision no|
--dynamo_backend=inductor|--config_file=/c.yaml|--config-file /c.yaml|-m|--module|--no_python|
-m --no_python|--gpu_ids=0,1|--gpu_ids all|--same_network|--rdzv_backend=c10d|--rdzv_conf=a=1|
--max_restarts=3|--max-restarts x|--monitor_interval=.5|--num_cpu_threads_per_process=4|
--num_cpu_threads_per_process x|--zero_stage=x|--gradient_clipping=1.0|--gradient_clipping x|
--deepspeed_hostfile=/h --use_deepspeed|--deepspeed_multinode_launcher=pdsh --use_deepspeed|
--use_megatron_lm|--fp8_backend=te|--fp8_backend xx|--fp8-backend te|--fp8_margin=1|--debug|-q|--quiet|
-mq|-qm|-t 3|-t3|--tee=3|--log_dir=/l|--role=x|--env A=1 --env B=2|--vm a|
--mpirun_hostfile=/h --num_processes=2|--downcast_bf16|--unknown|--unknown 1|--unknown=1|-x|-1|--|-- --|
-|-h|--help|--gpu-ids=0|--num_processes=4 --num_processes=8|--mixed_precision|--main_process_port|
--multi_gpu --num_processes 8 --num_machines 2 --machine_rank 1 --main_process_ip h --main_process_port 29500|
"--num_processes 2"|"--num_processes=2 --num_machines=1"|"--main_process_ip=h --num_machines=1"
"""


def split(table: str) -> list[list[str]]:
    """Split a table above into lists of words; double quotes keep blanks."""
    return [shlex.split(entry) for entry in table.strip().replace("|\n", "|").split("|")]


def cases(
    options: str, environments: list[dict[str, str]], mixed: int, tails: str = BEHIND
) -> Iterator[Case]:
    """Yield each option alone before a script, each tail, each environment, and ``mixed`` random
    combinations."""
    options_, behind = split(options), split(tails)
    for words in options_:
        yield [*words, "train.py", "--epochs", "3"], {}
        if len(words) == 1:
            yield words, {}
    for words in behind:
        yield words, {}
        yield ["--master_port=1234", *words], {}
    for env in environments:
        yield ["train.py"], env
        yield ["--nnodes=3", "--nproc_per_node=2", "--max_restarts=1", "train.py"], env
    draw = random.Random(20240501)
    options_ = [words for words in options_ if words[0] not in ("-h", "--help")]
    for _ in range(mixed):
        words = [word for entry in draw.choices(options_, k=draw.randint(2, 3)) for word in entry]
        yield words + draw.choice(behind), draw.choice(environments) if draw.random() < 0.2 else {}


def answered(ask: Callable[[list[str]], Answer], words: list[str], env: dict[str, str]) -> Answer:
    """Return how a launcher parses a case; rejected if it raises or exits."""
    with (
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.redirect_stdout(io.StringIO()),
        mock.patch.dict(os.environ, env),
    ):
        try:
            return {"words": words, "env": env, "accepted": True, **ask(words)}
        except SystemExit as end:
            return {"words": words, "env": env, "accepted": end.code == 0}
        except Exception:
            return {"words": words, "env": env, "accepted": False}


def torchrun(asked: Iterable[Case]) -> Iterator[Answer]:
    torch = import_module("torch")
    run = import_module("torch.distributed.run")
    parse = import_module("torch.distributed.elastic.rendezvous.utils").parse_rendezvous_endpoint
    registered = import_module("torch.distributed.elastic.rendezvous").rendezvous_handler_registry._registry
    ports = {"c10d": 29400, "etcd": 2379, "etcd-v2": 2379}

    def launch(config: Any, entrypoint: Any) -> Any:
        def started(*words: str) -> None:
            raise Started(config, entrypoint, words)

        return started

    def ask(words: list[str]) -> Answer:
        args = run.parse_args(words)
        processes = args.nproc_per_node
        try:
            run.run(args)
        except Started as started:
            config = started.args[0]
        host, port = parse(config.rdzv_endpoint, ports.get(config.rdzv_backend, -1))
        return {
            "nodes": [config.min_nodes, config.max_nodes],
            "processes": processes,
            "backend": config.rdzv_backend,
            "registered": config.rdzv_backend in registered,
            "host": host if config.rdzv_endpoint.strip() else None,
            "port": port if config.rdzv_endpoint.strip() and port >= 0 else None,
            "node_rank": args.node_rank,
            "max_restarts": config.max_restarts,
            "standalone": args.standalone,
            "module": args.module,
            "script": args.training_script,
            "arguments": args.training_script_args,
        }

    with (
        mock.patch.object(run, "elastic_launch", launch),
        mock.patch.object(torch.cuda, "is_available", return_value=True),
        mock.patch.object(torch.cuda, "device_count", return_value=8),
        mock.patch.object(torch.multiprocessing, "_set_thread_name"),
    ):
        for words, env in asked:
            yield answered(ask, words, env)


def deepspeed(asked: Iterable[Case]) -> Iterator[Answer]:
    os.environ["DS_ACCELERATOR"] = "cpu"
    runner: Any = import_module("deepspeed.launcher.runner")
    read = runner.parse_args
    seen: list[Any] = []

    def parse_args(args: Any) -> Any:
        found = read(args)
        seen.append(types.SimpleNamespace(**vars(found)))  # the launcher changes it later
        return found

    def started(*args: Any, **_: Any) -> None:
        raise Started(args)

    def ask(words: list[str]) -> Answer:
        with contextlib.suppress(Started):
            runner.main(words)
        args = seen[-1]
        if args.no_python and args.module:
            raise ValueError  # deepspeed.launcher.launch rejects it on every host
        return {
            "hostfile": args.hostfile,
            "include": args.include,
            "exclude": args.exclude,
            "nodes": args.num_nodes,
            "processes": args.num_gpus,
            "master_addr": args.master_addr,
            "master_port": args.master_port,
            "launcher": args.launcher.lower(),
            "flags": sorted(name for name, value in vars(args).items() if value is True),
            "script": args.user_script,
            "arguments": args.user_args,
        }

    pool = {"worker-0": 4, "worker-1": 4}
    with (
        mock.patch.object(runner, "parse_args", parse_args),
        mock.patch.object(runner, "fetch_hostfile", return_value=pool),
        mock.patch.object(runner, "run_autotuning", started),
        mock.patch.object(runner.subprocess, "check_call"),
        mock.patch.object(runner.subprocess, "check_output", return_value=b"10.0.0.1 "),
        mock.patch.object(runner.subprocess, "Popen", started),
        mock.patch("shutil.which", return_value="/usr/bin/launcher"),
        mock.patch.dict(os.environ, {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}),
    ):
        for words, env in asked:
            yield answered(ask, words, env)


def colossalai(asked: Iterable[Case]) -> Iterator[Answer]:
    command: Any = import_module("colossalai.cli.launcher").run
    runner: Any = import_module("colossalai.cli.launcher.run")
    hosts: Any = import_module("colossalai.cli.launcher.hostinfo")

    def hostfile(_path: str, ssh_port: int) -> Any:
        pool = hosts.HostInfoList()
        for name in ("worker-0", "worker-1"):
            pool.append(hosts.HostInfo(name, ssh_port))
        return pool

    def ask(words: list[str]) -> Answer:
        sent: list[tuple[str, str]] = []
        node = mock.Mock()
        node.send = lambda hostinfo, cmd: sent.append((hostinfo.hostname, cmd))
        node.recv_from_all.return_value = {}
        with mock.patch.object(runner, "MultiNodeRunner", return_value=node), contextlib.suppress(SystemExit):
            command.main(list(words))
        if "--help" in words:
            return {}
        if not sent:
            raise ValueError
        return {"hosts": [host for host, _ in sent], "torchrun": sent[0][1].split()[1:]}

    with (
        mock.patch.object(runner, "fetch_hostfile", hostfile),
        mock.patch.object(hosts.HostInfo, "is_host_localhost", return_value=False),
    ):
        for words, env in asked:
            yield answered(ask, ["--hostfile=/h", "--nproc_per_node=2", *words], env)


def accelerate(asked: Iterable[Case]) -> Iterator[Answer]:
    launch = import_module("accelerate.commands.launch")
    top = import_module("accelerate.commands.utils").CustomArgumentParser("accelerate", allow_abbrev=False)
    launch.launch_command_parser(top.add_subparsers())

    def ask(words: list[str]) -> Answer:
        args = top.parse_args(["launch", *words])
        answer = {
            "processes": args.num_processes,
            "machines": args.num_machines,
            "machine_rank": args.machine_rank,
            "main_ip": args.main_process_ip,
            "main_port": args.main_process_port,
            "multi_gpu": args.multi_gpu,
            "config_file": args.config_file,
            "script": args.training_script,
            "arguments": args.training_script_args,
        }
        launch._validate_launch_command(types.SimpleNamespace(**{**vars(args), "config_file": None}))
        if args.module and args.no_python:
            raise ValueError  # every one of its launchers rejects it
        return answer

    with mock.patch("os.path.isfile", return_value=False):
        for words, env in asked:
            yield answered(ask, words, env)


# The questions for each launcher: its table of options, environments, and the number of combinations.
ASKED: dict[str, Any] = {
    "torchrun": (TORCHRUN_OPTIONS, TORCHRUN_ENV, 300),
    "deepspeed": (DEEPSPEED_OPTIONS, [{}], 250),
    "accelerate": (ACCELERATE_OPTIONS, [{}], 250),
    "colossalai": (COLOSSALAI_OPTIONS, [{}], 250, COLOSSALAI_BEHIND),
}


def main() -> None:
    for name in sys.argv[1:]:
        answers = {json.dumps([a["words"], a["env"]]): a for a in globals()[name](cases(*ASKED[name]))}
        lines = [json.dumps(answer, sort_keys=True) for answer in answers.values()]
        (FIXTURES / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        accepted = sum(answer["accepted"] for answer in answers.values())
        print(f"{name}: {len(lines)} answers, {accepted} accepted")


if __name__ == "__main__":
    main()
