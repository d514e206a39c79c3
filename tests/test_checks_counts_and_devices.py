"""Counts of scripts against their launcher, devices and their software, joined lines, probes, offloading."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policy_examples import findings
from tests.test_checks_plans import generic, job, pytorch, replicas, template
from tests.test_script_locations import GENERIC, place
from tests.test_script_locations import report as report_text

Data = dict[str, Any]
TORCHRUN = {"enabled": True}


def said(given: Data, code: str) -> list[str]:
    """The messages of a rule about a job."""
    return [one.message for one in findings({"object": given}, code) if one.rule == code]


def launched(
    arguments: list[str], gpus: int = 4, pods: int = 2, processes: str = "4", image: str = "", **pod: Any
) -> Data:
    """A PyTorchTrainingJob whose controller starts torchrun."""
    made = template([], gpus, args=["train.py", *arguments], **pod)
    if image:
        made["spec"]["containers"][0]["image"] = image
    return pytorch(made, pods, torchrunConfig={**TORCHRUN, "procPerNode": processes})


def run_by_python(command: list[str], gpus: int = 1, pods: int = 1, **pod: Any) -> Data:
    return pytorch(template(["python", *command], gpus, **pod), pods)


def deepspeed(arguments: list[str], memory: str = "64Gi", workers: int = 1, slots: int = 8) -> Data:
    resources = {
        "requests": {"cpu": 4, "memory": memory},
        "limits": {"memory": memory, "nvidia.com/gpu": slots},
    }
    container = {"name": "worker", "image": "registry.example.com/ds:1", "resources": resources}
    pod = {"spec": {"containers": [container]}}
    config = {"slotsPerWorker": slots, "run": {"python": ["train.py", *arguments]}}
    return job("DeepSpeedJob", {"config": config, "worker": {"replicas": workers, "template": pod}})


# Counts that a script is told.


@pytest.mark.parametrize(
    "arguments",
    [
        ["--trainer.num_nodes=1"],
        ["--trainer.devices", "8"],
        ["trainer.num_nodes=4", "trainer.devices=4"],  # hydra
        ["+trainer.devices=2"],
        ["--num_nodes=1", "--devices=4"],
        ["--num-nodes", "3", "--strategy", "ddp"],
        ["--nproc_per_node=8"],
        ["--world-size", "16"],
        ["--distributed-world-size=4"],
        ["--nnodes=3"],
    ],
)
def test_other_counts_than_the_launcher(arguments: list[str]) -> None:
    assert said(launched(arguments), "DIST021")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--trainer.num_nodes=2", "--trainer.devices=4"],
        ["trainer.devices=auto"],
        ["--trainer.devices=-1"],
        ["--num_nodes=2708"],  # of a graph
        ["--devices=8"],  # of anything
        ["--gpus=8"],  # in all
        ["--world-size=8"],
        ["--world-size=$(SIZE)"],
        ["--data.world_size=3"],
    ],
)
def test_the_same_counts_or_others(arguments: list[str]) -> None:
    assert not said(launched(arguments), "DIST021")


def test_counts_of_other_launchers() -> None:
    assert said(deepspeed(["--world_size=8"], workers=2), "DIST021")
    assert not said(deepspeed(["--world_size=16"], workers=2), "DIST021")
    assert said(run_by_python(["fit.py", "--trainer.num_nodes=1"], pods=4), "DIST021")
    assert not said(run_by_python(["fit.py", "--trainer.num_nodes=4"], pods=4), "DIST021")
    accelerate = ["accelerate", "launch", "--num_processes=8", "--num_machines=2", "--machine_rank=0"]
    assert said(pytorch(template([*accelerate, "train.py", "--nproc_per_node=8"], 4), 2), "DIST021")


# What the parallelism divides.


def test_sizes_of_the_parallelism() -> None:
    assert said(launched(["--tensor-model-parallel-size=3"]), "DIST011")
    assert said(
        launched(["model.tensor_model_parallel_size=4", "model.pipeline_model_parallel_size=4"]), "DIST011"
    )
    assert said(launched(["--tp_size=2", "--pp_size=3"]), "DIST011")
    assert not said(launched(["--tp_size=2", "--pp_size=4"]), "DIST011")
    # the sizes of two models, each by itself
    split = ["actor.tensor_model_parallel_size=4", "rollout.tensor_model_parallel_size=4"]
    assert not said(launched(split), "DIST011")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--num-layers=30", "--pipeline-model-parallel-size=4"],
        ["--num-attention-heads=20", "--tensor-model-parallel-size=8"],
        ["--num-query-groups=3", "--tensor-model-parallel-size=2"],
        ["--hidden-size=4080", "--num-attention-heads=32"],
        ["--global-batch-size=100", "--micro-batch-size=4"],
        ["model.num_layers=26", "model.pipeline_model_parallel_size=4"],
        ["--num-experts=6", "--expert-model-parallel-size=4"],
    ],
)
def test_models_that_cannot_be_split(arguments: list[str]) -> None:
    assert said(deepspeed(arguments), "DIST022")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--num-layers=32", "--pipeline-model-parallel-size=4"],
        ["--num-layers=30", "--pipeline-model-parallel-size=4", "--decoder-first-pipeline-num-layers=6"],
        ["--num-query-groups=1", "--tensor-model-parallel-size=2"],
        ["--global-batch-size=64", "--micro-batch-size=4", "--tensor-model-parallel-size=2"],
        ["--global-batch-size=100", "--micro-batch-size=4", "--rampup-batch-size", "16", "16", "100"],
        ["--global-batch-size=100"],
        ["--num-layers=30"],
    ],
)
def test_models_that_can_be_split(arguments: list[str]) -> None:
    assert not said(deepspeed(arguments), "DIST022")


# Numbers of GPUs.


def test_gpus_that_a_container_has_not() -> None:
    assert said(launched([], env={"CUDA_VISIBLE_DEVICES": "4,5,6,7"}), "RES017")
    assert said(launched([], env={"CUDA_VISIBLE_DEVICES": "0,1,2,4"}), "RES017")
    assert said(launched(["--gpu_ids=0,1,2,7"]), "RES017")
    assert said(launched(["--gpus", "4,5,6,7"]), "RES017")
    assert said(run_by_python(["eval.py", "--device=cuda:1"]), "RES017")
    assert said(run_by_python(["eval.py", "--gpu-id", "2"]), "RES017")
    script: Data = {"args": ["export CUDA_VISIBLE_DEVICES=2,3\nexec python eval.py"]}
    assert said(pytorch(template(["bash", "-c"], 2, **script)), "RES017")
    assert said(pytorch(template(["bash", "-c"], 2, args=["CUDA_VISIBLE_DEVICES=2 python a.py"])), "RES017")


def test_gpus_that_a_container_has() -> None:
    assert not said(launched([], env={"CUDA_VISIBLE_DEVICES": "3,2,1,0"}), "RES017")
    assert not said(launched([], env={"CUDA_VISIBLE_DEVICES": "0,1"}), "RES017")  # visible-devices-count
    assert not said(launched([], env={"CUDA_VISIBLE_DEVICES": "GPU-8932f937"}), "RES017")
    assert not said(launched(["--gpus=4", "--devices", "8"]), "RES017")
    assert not said(run_by_python(["eval.py", "--device=cuda:0", "--gpu=1"]), "RES017")
    assert not said(run_by_python(["eval.py", "--device=cuda:3"], gpus=0), "RES017")


# Software and devices.


@pytest.mark.parametrize(
    "image",
    [
        "r.io/monai:1.3-cpu",
        "r.io/pytorch-cpu:2.4",
        "r.io/a/train:2.4.0-py3.11-cpu-ubuntu",
        "r.io/a:rocm6.1-2.4",
    ],
)
def test_images_for_other_devices(image: str) -> None:
    assert said(launched([], image=image), "RES018")


@pytest.mark.parametrize(
    "image",
    [
        "r.io/monai:1.3-cu121",
        "r.io/zero-cpu-offload:7",
        "r.io/cpu-and-gpu:2",
        "r.io/train:cpu-gpu-3",
        "cpu.example.com/cpu/train:7",
        "r.io/train@sha256:" + "a" * 64,
        "r.io/rocm-to-cuda:7",
    ],
)
def test_images_for_gpus(image: str) -> None:
    assert not said(launched([], image=image), "RES018")


def test_wheels_and_options_for_the_cpu() -> None:
    install = (
        "pip install torch==2.4.0 --index-url https://download.pytorch.org/whl/cpu\nexec python train.py"
    )
    assert said(pytorch(template(["bash", "-c"], 1, args=[install])), "RES018")
    wheel = "python -m pip install torch==2.4.0+cpu && python train.py"
    assert said(pytorch(template(["bash", "-c"], 1, args=[wheel])), "RES018")
    assert said(run_by_python(["train.py"], env={"JAX_PLATFORMS": "cpu"}), "RES018")
    assert said(launched(["--trainer.accelerator=cpu"]), "RES018")
    assert said(launched(["--use_cpu"]), "RES018")
    assert not said(pytorch(template(["bash", "-c"], 1, args=[install.replace("cpu", "cu124")])), "RES018")
    assert not said(run_by_python(["train.py"], env={"JAX_PLATFORMS": "cuda,cpu"}), "RES018")
    assert not said(launched(["--use_cpu=false", "--device", "cuda"]), "RES018")
    assert not said(launched(["--device=cpu"], gpus=0), "RES018")


def test_gpus_that_a_program_needs() -> None:
    assert said(launched(["--dist-backend=nccl"], gpus=0), "RES019")
    assert said(launched(["dist.backend=nccl"], gpus=0), "RES019")
    assert said(launched([], gpus=0, env={"DIST_BACKEND": "nccl"}), "RES019")
    assert said(run_by_python(["train.py", "--device", "cuda:0"], gpus=0), "RES019")
    assert said(launched(["--trainer.accelerator=gpu"], gpus=0), "RES019")
    assert not said(launched(["--dist-backend=nccl"]), "RES019")
    assert not said(launched(["--dist-backend=gloo"], gpus=0), "RES019")
    assert not said(launched(["--backend=nccl"], gpus=0, runtimeClassName="nvidia"), "RES019")
    other = launched(["--backend=nccl"], gpus=0)
    container = other["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    container["resources"]["limits"]["tencent.com/vcuda-core"] = 100
    assert not said(other, "RES019")


# States in memory.


def test_states_that_do_not_fit() -> None:
    model = "--model_name_or_path=meta-llama/Llama-2-13b-hf"
    assert said(deepspeed([model, "--offload_optimizer_device=cpu"]), "RES020")
    assert said(deepspeed([model, "--offload_optimizer", "cpu"], workers=2), "RES020")
    assert said(launched(["--model=qwen2.5-72B", "--fsdp_offload_params", "true"]), "RES020")
    assert not said(deepspeed([model, "--offload_optimizer=cpu"], memory="256Gi"), "RES020")
    assert not said(deepspeed([model, "--offload_optimizer=cpu"], workers=4), "RES020")
    assert not said(deepspeed([model, "--offload_optimizer=cpu", "--use_peft"]), "RES020")
    assert not said(deepspeed([model, "--offload_optimizer=none"]), "RES020")
    assert not said(deepspeed(["--model=mixtral-8x7b", "--offload_optimizer=cpu"]), "RES020")
    assert not said(deepspeed(["--model=/models/base", "--offload_optimizer=cpu"]), "RES020")


# Variables of another kind.


@pytest.mark.parametrize(
    "script",
    [
        "torchrun --node_rank=$(rank) train.py",
        "echo $(replicas[worker]) && python train.py",
        "torchrun --master_addr=$(service.worker[0].host) train.py",
    ],
)
def test_variables_of_a_generic_job_elsewhere(script: str) -> None:
    assert said(pytorch(template(["bash", "-c"], 1, args=[script])), "EXEC003")
    used = generic(replicas("worker", 1, template(["bash", "-c"], 1, args=[script])))
    assert not said(used, "EXEC003")


def test_variables_of_a_generic_job_in_the_environment() -> None:
    assert said(run_by_python(["train.py"], env={"HOST": "$(service.worker[0].host)"}), "EXEC004")
    assert not said(run_by_python(["train.py"], env={"NOTE": "service.worker[0].host"}), "EXEC004")
    own = "rank() { echo 0; }\ntorchrun --node_rank=$(rank) train.py"
    assert not said(pytorch(template(["bash", "-c"], 1, args=[own])), "EXEC003")
    assert not said(pytorch(template(["bash", "-c"], 1, args=["python -m rank $(rank --of me)"])), "EXEC003")


# Lines that YAML joins.


@pytest.mark.parametrize(
    ("args", "where"),
    [
        ("- >\n  cd /app\n  python train.py --resume", "19: python"),
        ("- >-\n  set -e\n  export A=1\n  torchrun train.py", "19: export"),
        ("- >\n  pip install -r req.txt\n  python train.py", "19: python"),
        ("- cd /app\n  python train.py", "18: python"),
        ("- 'cd /app\n  python train.py'", "18: python"),
        ("- >\n  set -e;\n  mkdir -p /out\n  cd /app && python a.py", "20: cd"),
        ("- >\n  python prepare.py\n  torchrun train.py", "19: torchrun"),
    ],
)
def test_lines_that_become_arguments(args: str, where: str) -> None:
    assert place(_with_args(args), "EXEC014") == where


@pytest.mark.parametrize(
    "args",
    [
        "- |\n  cd /app\n  python train.py",
        "- >\n  cd /app &&\n  python train.py\n  --resume",
        "- >\n  cd /app;\n  exec\n  python train.py",
        "- >\n  timeout 3600\n  python train.py",
        "- >\n  A=1\n  python train.py",
        "- >\n  cd /app\n\n  python train.py",
        "- >\n  python train.py --name 'a\n  python b'",
        "- >\n  if test -f a; then\n  python train.py; fi",
        "- >\n  torchrun --nproc_per_node=2\n  train.py\n  --out /out",
        "- >\n  mkdir -p /out\n  /data\n  && python train.py",
    ],
)
def test_lines_that_stay_commands(args: str) -> None:
    assert not [one.message for one in report_text(_with_args(args)) if one.rule == "EXEC014"]


def _with_args(args: str) -> str:
    from tests.test_script_locations import job as with_args

    return with_args(GENERIC, args)


# Probes of trainings.


def probed(command: list[str], probe: str = "livenessProbe", ports: Any = (), **fields: Any) -> Data:
    made = template(command, 1)
    container = made["spec"]["containers"][0]
    container[probe] = {"tcpSocket": {"port": 8080}, **fields}
    container["ports"] = [{"containerPort": port} for port in ports]
    return generic(replicas("worker", 1, made))


def test_probes_that_nobody_answers() -> None:
    assert said(probed(["python", "train.py"]), "NET013")
    assert said(probed(["torchrun", "train_distil.py"], "startupProbe"), "NET013")
    assert not said(probed(["python", "train.py"], "readinessProbe"), "NET013")
    assert not said(probed(["python", "train.py"], ports=[8080]), "NET013")
    assert not said(probed(["python", "train.py", "--listen=0.0.0.0:8080"]), "NET013")
    assert not said(probed(["python", "train.py", "--metrics"]), "NET013")
    assert not said(probed(["python", "serve.py"]), "NET013")
    assert not said(probed(["run-all"]), "NET013")
    assert not said(probed(["bash", "-c", "python side.py & python train.py"]), "NET013")


# Debug mode, waits and retries.


def test_debug_mode_of_a_real_run() -> None:
    mode: Data = {"runMode": {"debug": {"enabled": True}}}
    pod = template([], 8, args=["train.py"])
    assert said(pytorch(pod, run={"activeDeadlineSeconds": 604_800}, **mode), "LIFE032")
    assert not said(pytorch(pod, run={"activeDeadlineSeconds": 28_800}, **mode), "LIFE032")
    assert not said(pytorch(pod, run={"activeDeadlineSeconds": 604_800}), "LIFE032")
    released = pytorch(pod, **mode)
    released["metadata"]["labels"] = {"example.com/env": "Prod"}
    assert said(released, "LIFE032")
    released["metadata"]["labels"] = {"example.com/env": "dev", "app": "production"}
    assert not said(released, "LIFE032")


WAIT = "until nc -z {host} 8786; do sleep 2; done"


def waiting(host: str, list_key: str, gpus: int) -> Data:
    made = template(["python", "train.py"], gpus)
    if list_key == "initContainers":
        image = made["spec"]["containers"][0]["image"]
        command = ["sh", "-c", WAIT.format(host=host)]
        made["spec"]["initContainers"] = [{"name": "wait", "image": image, "command": command}]
    else:
        made["spec"]["containers"][0]["command"] = ["sh", "-c", f"{WAIT.format(host=host)}; python train.py"]
    return generic(replicas("worker", 1, made))


def test_waits_without_an_end() -> None:
    assert said(waiting("train-worker-0", "initContainers", 1), "GEN003")
    assert said(waiting("train-worker-0", "containers", 0), "GEN003")
    assert not said(waiting("train-worker-0", "initContainers", 0), "GEN003")
    [message] = said(waiting("localhost", "containers", 1), "GEN003")
    assert message.endswith("if nothing in its Pod answers")
    [message] = said(waiting("train-localhost-0", "containers", 1), "GEN003")
    assert message.endswith("if the other Pod never starts")


def test_retries_of_replicas_that_are_no_single_group() -> None:
    trainers = template(["python", "train.py"], 1)
    one_group = pytorch(trainers, 4, run={"backoffLimit": 3})
    assert said(one_group, "LIFE001")
    server: Data = {"type": "ps", "replicas": 1, "restartPolicy": "OnFailure"}
    one_group["spec"]["replicaSpecs"].insert(0, {**server, "template": template(["python", "train.py"])})
    assert not said(one_group, "LIFE001")


def test_an_unknown_medium_is_not_in_memory() -> None:
    one = template(["torchrun", "--nproc-per-node=2", "train.py"], 2)
    one["spec"]["volumes"] = [{"name": "shm", "emptyDir": {"medium": "memory"}}]
    one["spec"]["containers"][0]["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]
    job = pytorch(one, 1)
    assert said(job, "VOL026")
    [message] = said(job, "RES001")
    assert message.endswith("but its /dev/shm is an emptyDir with medium memory")


# Values, meeting points, commands, amounts, folders.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb=128"),
        ("PYTORCH_ALLOC_CONF", "expandable_segments"),
        ("OMP_NUM_THREADS", "0"),
        ("OMP_NUM_THREADS", "auto"),
        ("NCCL_DEBUG", "debug"),
        ("TORCH_DISTRIBUTED_DEBUG", "INFOS"),
        ("NCCL_IB_HCA", "eth0"),
        ("NCCL_IB_HCA", "ib0"),
        ("NCCL_SOCKET_IFNAME", "lo"),
        ("GLOO_SOCKET_IFNAME", "lo"),
    ],
)
def test_values_that_libraries_refuse(name: str, value: str) -> None:
    assert said(launched([], env={name: value}), "CR018")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync"),
        ("PYTORCH_CUDA_ALLOC_CONF", "roundup_power2_divisions:[256:1,512:2,>:8], max_split_size_mb : 128"),
        ("OMP_NUM_THREADS", "4,2"),
        ("NCCL_DEBUG", "info"),
        ("TORCH_DISTRIBUTED_DEBUG", "DETAIL"),
        ("NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1"),
        ("NCCL_IB_HCA", "mlx5_bond_0"),
        ("NCCL_SOCKET_IFNAME", "^lo,docker"),
        ("NCCL_DEBUG", "$(LEVEL)"),
    ],
)
def test_values_that_libraries_take(name: str, value: str) -> None:
    assert not said(launched([], env={name: value}), "CR018")


@pytest.mark.parametrize(
    "option",
    [
        "--dist-url=tcp://127.0.0.1:23456",
        "--init_method=tcp://localhost:1234",
        "--master_addr=localhost",
        "--coordinator-address=127.0.0.1:1234",
        "--dist-url=file:///tmp/store",
        "--init-method=file:///dev/shm/store",
    ],
)
def test_places_where_pods_do_not_meet(option: str) -> None:
    assert said(run_by_python(["train.py", option], pods=2), "DIST023")
    assert not said(run_by_python(["train.py", option]), "DIST023")


@pytest.mark.parametrize(
    "option", ["--dist-url=env://", "--dist-url=tcp://$(MASTER_ADDR):1", "--init-method=file:///pvc/store"]
)
def test_places_where_pods_meet(option: str) -> None:
    assert not said(run_by_python(["train.py", option], pods=2), "DIST023")


@pytest.mark.parametrize(
    ("value", "differs"),
    [
        ("$RANDOM", True),
        ("$(hostname)", True),
        ("job-$(date +%s)", True),
        ("$POD_NAME", True),
        ("train", False),
        ("$JOB_ID", False),
    ],
)
def test_ids_of_the_rendezvous(value: str, differs: bool) -> None:
    line = (
        "torchrun --nnodes=2 --nproc_per_node=1 --rdzv_backend=c10d"
        f" --rdzv_endpoint=$MASTER_ADDR:29500 --rdzv_id={value} train.py"
    )
    assert bool(said(pytorch(template(["bash", "-c"], 1, args=[line]), 2), "DIST024")) is differs


@pytest.mark.parametrize(
    ("before", "value", "differs"),
    [
        ("RUN=job-$RANDOM", "$RUN", True),
        ("export RUN=$(uuidgen)", "${RUN}", True),
        ("RUN=job-$(date +%s)", "$RUN", True),
        ("RUN=$(date -u +%Y-%m-%d)", "$RUN", False),
        ("RUN=train", "$RUN", False),
        ("RUN='$RANDOM'", "$RUN", False),
        ("RUN=$RANDOM; RUN=train", "$RUN", False),
        ('if [ -z "$RUN" ]; then RUN=$RANDOM; fi', "$RUN", False),
    ],
)
def test_ids_of_the_rendezvous_by_the_shell(before: str, value: str, differs: bool) -> None:
    line = (
        f"{before}\ntorchrun --nnodes=2 --nproc_per_node=1 --rdzv_backend=c10d"
        f" --rdzv_endpoint=$MASTER_ADDR:29500 --rdzv_id={value} train.py"
    )
    assert bool(said(pytorch(template(["bash", "-c"], 1, args=[line]), 2), "DIST024")) is differs


@pytest.mark.parametrize(
    ("field", "differs"), [("metadata.name", True), ("metadata.labels['job']", False)], ids=str
)
@pytest.mark.parametrize("name", ["ME", "PET_RDZV_ID"])
def test_ids_of_the_rendezvous_by_a_field(name: str, field: str, differs: bool) -> None:
    option = [f"--rdzv_id=$({name})"] if name == "ME" else []
    line = ["torchrun", "--nnodes=2", "--nproc_per_node=1", "--rdzv_backend=c10d", *option]
    pod = template([*line, "--rdzv_endpoint=$(MASTER_ADDR):29500", "train.py"], 1)
    env = [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}}]
    pod["spec"]["containers"][0]["env"] = env
    assert bool(said(pytorch(pod, 2), "DIST024")) is differs


def test_options_that_exclude_each_other() -> None:
    assert said(launched(["--fp16", "--bf16"]), "DIST025")
    assert said(launched(["--fp16", "True", "--bf16=True"]), "DIST025")
    assert said(launched(["--fsdp", "full_shard", "--deepspeed", "ds.json"]), "DIST025")
    assert not said(launched(["--fp16", "--bf16=false"]), "DIST025")
    assert not said(launched(["--bf16", "--fp16-full-eval"]), "DIST025")
    assert not said(launched(["--deepspeed", "ds.json"]), "DIST025")


def by_shell(script: str, shell: tuple[str, ...] = ("bash", "-c"), **context: Any) -> Data:
    made = template([*shell], 1, args=[script])
    made["spec"]["containers"][0]["securityContext"] = context
    return pytorch(made)


def test_commands_that_fail_in_a_container() -> None:
    assert said(by_shell("conda activate a && python train.py"), "EXEC015")
    assert said(by_shell("mount -o remount,size=64G /dev/shm\npython train.py"), "EXEC015")
    assert said(by_shell("apt-get update && apt-get install git && python train.py"), "EXEC015")
    hook = 'eval "$(conda shell.bash hook)"\nconda activate a\npython train.py'
    assert not said(by_shell(hook), "EXEC015")
    assert not said(by_shell("source ~/.bashrc\nconda activate a\npython train.py"), "EXEC015")
    assert not said(by_shell("conda activate a && python train.py", ("bash", "-lc")), "EXEC015")
    assert not said(by_shell("mount -t tmpfs t /a; python train.py", privileged=True), "EXEC015")
    assert not said(by_shell("apt-get install -y git && python train.py"), "EXEC015")
    assert not said(by_shell("apt-get -qqy install git && python train.py"), "EXEC015")
    assert not said(by_shell("pip install a && python train.py"), "EXEC015")


@pytest.mark.parametrize(
    ("script", "is_bash"),
    [
        ("source a && python b.py", True),
        ("if [[ -f a ]]; then python b.py; fi", True),
        ("A=(1 2)\npython b.py", True),
        ("python b.py > >(tee a)", True),
        (". a && python b.py", False),
        ("echo 'source a' && python b.py", False),
        ("python source.py --source a", False),
        ("if [ -f a ]; then python b.py; fi", False),
        ("A=$(cat a)\npython b.py", False),
        ("(cd a; python b.py)", False),
        ("f() { python b.py; }; f", False),
        ("# source of all\npython b.py", False),
    ],
)
def test_syntax_of_bash(script: str, is_bash: bool) -> None:
    assert bool(said(by_shell(script, ("sh", "-c")), "EXEC016")) is is_bash
    assert not said(by_shell(script), "EXEC016")


def test_loaders_and_amounts() -> None:
    assert said(launched(["--num-workers=16"], cpu="16"), "RES021")
    assert said(launched(["data.num_workers=64"], cpu="32"), "RES021")
    assert not said(launched(["--num-workers=8"], cpu="16"), "RES021")
    assert not said(launched(["--warmup=160"], cpu="16"), "RES021")
    assert said(launched([], cpu="16m"), "RES022")
    assert said(launched([], cpu="8000"), "RES022")
    assert not said(launched([], cpu="8000m"), "RES022")
    assert not said(launched([], gpus=0, cpu="16m"), "RES022")
    for memory, is_reported in (("128Mi", True), ("128", False), ("128000m", False), ("128Gi", False)):
        small = launched([])
        limits = small["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["resources"]["limits"]
        limits["memory"] = memory
        assert bool(said(small, "RES022")) is is_reported


@pytest.mark.parametrize(
    ("path", "hides"),
    [("/usr", True), ("/", True), ("/opt/conda/", True), ("/usr/src/app", False), ("/data", False)],
)
def test_mounts_over_the_image(path: str, hides: bool) -> None:
    assert bool(said(launched([], mounts=[{"name": "pvc", "mountPath": path}]), "VOL020")) is hides


def test_a_shell_that_becomes_the_training_hides_no_status() -> None:
    assert not said(by_shell("exec python train.py\necho done"), "LIFE017")
    assert said(by_shell("python train.py\necho done"), "LIFE017")
