"""Replicas that differ or share work, probes, deadlines, servers without a login, paths beside volumes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.test_checks_counts_and_devices import deepspeed, launched, run_by_python, said
from tests.test_checks_plans import generic, pytorch, replicas, template

Data = dict[str, Any]
CLAIM = {"name": "pvc", "persistentVolumeClaim": {"claimName": "data"}}


def two_types(
    master: list[str], workers: list[str], images: tuple[str, str] = ("train:1", "train:1")
) -> Data:
    """A PyTorchTrainingJob of a master and workers."""
    made = pytorch(template(master, 1), run={"backoffLimit": 20})
    pod = template(workers, 1)
    made["spec"]["replicaSpecs"][0]["type"] = "master"
    made["spec"]["replicaSpecs"].append(
        {"type": "worker", "replicas": 2, "restartPolicy": "OnFailure", "template": pod}
    )
    for role, image in zip(made["spec"]["replicaSpecs"], images, strict=True):
        role["template"]["spec"]["containers"][0]["image"] = f"registry.example.com/{image}"
    return made


def in_shell(text: str, gpus: int = 1, **pod: Any) -> Data:
    return pytorch(template(["bash", "-c", text], gpus, **pod))


def with_secret(*command: str) -> Data:
    made = pytorch(template(list(command), 1))
    source = {"name": "API_KEY", "valueFrom": {"secretKeyRef": {"name": "judge", "key": "key"}}}
    made["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["env"] = [source]
    return made


def test_types_of_one_process_group() -> None:
    train = ["python", "train.py"]
    assert said(two_types(train, train, ("train:1", "train:2")), "DIST026")
    assert said(two_types(train, train, ("train@sha256:" + "a" * 64, "train:2")), "DIST026")
    assert not said(two_types(train, train), "DIST026")
    assert not said(two_types(train, train, ("train:1", "other:2")), "DIST026")
    assert not said(two_types(train, ["python", "serve.py"], ("train:1", "train:2")), "DIST026")
    for option in ("--backend=", "--dist-backend=", "--pg_backend=", "backend="):
        assert said(two_types([*train, f"{option}gloo"], [*train, f"{option}nccl"]), "DIST026")
    assert not said(two_types([*train, "--backend=nccl"], train), "DIST026")
    assert not said(two_types([*train, "--batch-size=8"], [*train, "--batch-size=16"]), "DIST026")


@pytest.mark.parametrize(
    ("options", "is_wrong"),
    [
        (["--shard=$(rank)", "--num-shards=8"], True),
        (["--shard_id", "$(rank)", "--num_shards", "2"], True),
        (["--chunk-index=$(rank)", "--total-chunks=16"], True),
        (["partition=$(rank)", "n_partitions=4"], True),
        (["--shard=$(rank)", "--num-shards=3"], False),
        (["--shard=$(rank)", "--num-shards=$(replicas[worker])"], False),
        (["--shard=0", "--num-shards=8"], False),
        (["--part=$(rank)", "--num-shards=8"], False),
        (["--rank=$(rank)", "--num-workers=8"], False),
    ],
)
def test_shards(options: list[str], is_wrong: bool) -> None:
    made = generic(replicas("worker", 3, template(["python", "embed.py", *options], 1)))
    assert bool(said(made, "DIST027")) is is_wrong


@pytest.mark.parametrize(
    ("options", "service", "is_wrong"),
    [
        (["--worker=$(rank)", "--output=/pvc/all.parquet"], False, True),
        (["--index", "$(rank)", "--output_file", "/pvc/all.jsonl"], False, True),
        (["--worker=$(rank)", "--output=/pvc/all-$(rank).parquet"], False, False),
        (["--worker=$(rank)", "--output=/pvc/all"], False, False),
        (["--worker=$(rank)", "--output=/tmp/all.parquet"], False, False),
        (["--worker=$(rank)", "--input=/pvc/all.parquet"], False, False),
        (["--worker=$(rank)", "--output=/pvc/all.parquet"], True, False),  # they know each other
        (["--output=/pvc/all.parquet"], False, False),
    ],
)
def test_files_that_all_replicas_write(options: list[str], service: bool, is_wrong: bool) -> None:
    made = generic(replicas("worker", 3, template(["python", "hash.py", *options])))
    if not service:
        del made["spec"]["service"]
    assert bool(said(made, "VOL023")) is is_wrong


def test_world_sizes_beside_a_rank() -> None:
    given = ["train.py", "--rank=$(RANK)"]
    assert said(run_by_python([*given, "--world-size=4"], pods=8), "DIST021")
    assert said(run_by_python([*given, "--world-size=8", "--multiprocessing-distributed"], 8, 2), "DIST021")
    assert not said(
        run_by_python([*given, "--world-size=2", "--multiprocessing-distributed"], 8, 2), "DIST021"
    )
    assert not said(run_by_python([*given, "--world-size=16"], 8, 2), "DIST021")
    assert not said(run_by_python([*given, "--world-size=2"], 8, 2), "DIST021")
    assert not said(run_by_python(["train.py", "--world-size=4"], pods=8), "DIST021")


def test_zero_in_a_pipeline() -> None:
    assert said(launched(["--pp=2", "--zero=2"]), "DIST025")
    assert said(deepspeed(["--pipeline-model-parallel-size", "2", "--zero-stage", "3"]), "DIST025")
    assert not said(launched(["--pp=2", "--zero=1"]), "DIST025")
    assert not said(launched(["--pp=1", "--zero=2"]), "DIST025")
    assert not said(
        deepspeed(["--pipeline-model-parallel-size=2", "--zero-stage=2", "--no-pipeline-parallel"]), "DIST025"
    )


def test_checkpoints_that_are_due_after_the_end() -> None:
    assert said(launched(["--train-iters=500", "--save-interval=1000"]), "LIFE030")
    assert said(launched(["--max_steps", "500", "--save_steps", "501", "--resume=auto"]), "LIFE030")
    assert not said(launched(["--train-iters=500", "--save-interval=500"]), "LIFE030")
    assert not said(launched(["--epochs=3", "--save_steps=500"]), "LIFE030")


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("trap 'kill $pid; wait $pid; exit 1' TERM; python train.py & pid=$!; wait $pid", True),
        ("trap 'exit 3' SIGTERM SIGINT; python train.py & wait $!", True),
        ("python train.py || exit 1", True),
        ("trap 'kill $pid; wait $pid; exit 143' TERM; python train.py & pid=$!; wait $pid", False),
        ("trap 'exit 1' USR1; python train.py & wait $!", False),
        ("cd /pvc || exit 1; exec python train.py", False),
        ("trap 'rm -f /tmp/lock' TERM; python train.py", False),
    ],
)
def test_exit_codes_of_traps(text: str, is_wrong: bool) -> None:
    made = pytorch(template(["bash", "-c", text], 1), policy="ExitCode")
    assert bool(said(made, "LIFE022")) is is_wrong
    assert not said(in_shell(text), "LIFE022")


def test_grace_periods() -> None:
    handled = ["python", "train.py", "--save-on-sigterm"]
    assert said(pytorch(template(handled, 1, terminationGracePeriodSeconds=0)), "LIFE033")
    assert said(
        in_shell("trap 'kill $p' TERM; python a.py & wait", terminationGracePeriodSeconds=1), "LIFE033"
    )
    assert not said(pytorch(template(handled, 1, terminationGracePeriodSeconds=60)), "LIFE033")
    assert not said(pytorch(template(handled, 1)), "LIFE033")
    off = ["python", "train.py", "--save-on-sigterm=false"]
    assert not said(pytorch(template(off, 1, terminationGracePeriodSeconds=0)), "LIFE033")


def test_deadlines_of_seconds() -> None:
    train = template(["python", "train.py"], 1)
    assert said(pytorch(train, run={"activeDeadlineSeconds": 48}), "LIFE034")
    assert not said(pytorch(train, run={"activeDeadlineSeconds": 600}), "LIFE034")
    assert not said(pytorch(train, name="smoke-test", run={"activeDeadlineSeconds": 60}), "LIFE034")
    assert not said(pytorch(template(["python", "a.py"]), run={"activeDeadlineSeconds": 48}), "LIFE034")


def test_servers_in_success_rules() -> None:
    server = replicas("ps", 1, template(["python", "server.py", "--job_name", "ps"]))
    worker = replicas("worker", 2, template(["python", "train.py", "--job_name=worker"], 1))
    assert said(generic(worker, server, successRules=[{"ps": [0], "worker": [0, 1]}]), "LIFE021")
    assert not said(generic(worker, server, successRules=[{"worker": [0, 1]}]), "LIFE021")
    either = [{"worker": [0, 1]}, {"ps": [0], "worker": [0]}]
    assert not said(generic(worker, server, successRules=either), "LIFE021")
    blocking = replicas("ps", 1, template(["ray", "start", "--head", "--block"]))
    assert said(generic(worker, blocking, successRules=[{"ps": [0], "worker": [0]}]), "LIFE021")


RENDEZVOUS = "--rdzv_endpoint=$(service.worker[0].host):29500"


@pytest.mark.parametrize(
    ("number", "port", "is_wrong"), [(2, 29500, True), (2, 8080, False), (1, 29500, False)]
)
def test_probes_of_the_rendezvous(number: int, port: int, is_wrong: bool) -> None:
    pod = template(
        ["torchrun", f"--nnodes={number}", "--rdzv_backend=c10d", "--rdzv_id=a", RENDEZVOUS, "a.py"], 1
    )
    pod["spec"]["containers"][0]["startupProbe"] = {"tcpSocket": {"port": port}}
    assert bool(said(generic(replicas("worker", number, pod)), "NET014")) is is_wrong


def test_rendezvous_at_the_port_of_sshd() -> None:
    made = deepspeed([], workers=2)
    made["spec"]["config"]["otherArgs"] = ["--master_port", "22"]
    assert said(made, "NET015")
    made["spec"]["config"]["otherArgs"] = ["--master_port", "2222"]
    assert not said(made, "NET015")
    assert not said(launched(["--master_port=22"]), "NET015")  # an option of the script


def test_resolvers_of_the_node() -> None:
    train = ["python", "train.py"]
    assert said(pytorch(template(train, 1, dnsPolicy="Default"), 2), "NET004")
    assert not said(pytorch(template(train, 1, dnsPolicy="Default"), 1), "NET004")
    assert not said(pytorch(template(train, 1, dnsPolicy="ClusterFirst"), 2), "NET004")
    assert not said(pytorch(template(train, 1, dnsPolicy="None"), 2), "NET004")


def test_ports_of_the_node_that_nobody_else_wants() -> None:
    train = ["python", "train.py"]
    assert said(pytorch(template(train, 4, hostNetwork=True), 2), "NET001")
    assert not said(pytorch(template(train, 8, hostNetwork=True), 2), "NET001")


@pytest.mark.parametrize(
    ("command", "is_wrong"),
    [
        (["jupyter", "lab", "--ip=0.0.0.0", "--ServerApp.token="], True),
        (["jupyter-lab", "--ip", "0.0.0.0", "--NotebookApp.token=''"], True),
        (["bash", "-c", "jupyter notebook --ip='*' --IdentityProvider.token=''"], True),
        (["code-server", "--bind-addr=0.0.0.0:8080", "--auth=none"], True),
        (["ttyd", "-p", "7681", "bash"], True),
        (["redis-server", "--protected-mode", "no"], True),
        (["jupyter", "lab", "--ip=0.0.0.0"], False),
        (["jupyter", "lab", "--ServerApp.token="], False),
        (["jupyter", "lab", "--ip=0.0.0.0", "--ServerApp.token=", "--ServerApp.password=argon2:x"], False),
        (["code-server", "--auth=none"], False),
        (["ttyd", "-c", "user:$(PASSWORD)", "bash"], False),
        (["redis-server", "--protected-mode", "no", "--requirepass", "$(PASSWORD)"], False),
    ],
)
def test_servers_without_a_login(command: list[str], is_wrong: bool) -> None:
    assert bool(said(pytorch(template(command, 1)), "SEC022")) is is_wrong


@pytest.mark.parametrize(
    ("command", "is_wrong"),
    [
        (["bash", "-c", "printenv; python a.py"], True),
        (["bash", "-c", "env | sort | tee /pvc/env.txt; python a.py"], True),
        (["bash", "-c", "if true; then export -p; fi; python a.py"], True),
        (["bash", "-c", "cat /proc/self/environ"], True),
        (["bash", "-c", "printenv API_KEY"], True),
        (["env"], True),
        (["bash", "-c", "env | grep NCCL; python a.py"], False),
        (["bash", "-c", "env > /tmp/env; python a.py"], False),
        (["bash", "-c", "printenv HOSTNAME; env LANG=C python a.py; set -eu; export A=1"], False),
        (["python", "a.py"], False),
    ],
)
def test_secrets_in_the_log(command: list[str], is_wrong: bool) -> None:
    assert bool(said(with_secret(*command), "SEC023")) is is_wrong
    assert not said(pytorch(template(command, 1)), "SEC023")


@pytest.mark.parametrize(
    ("path", "is_wrong"),
    [
        ("/dataset/a", True),
        ("/datasest/a", True),
        ("/dtaasets/a", True),
        ("/datasets/a", False),
        ("/dat/a", False),
        ("/datasets2/a", False),
        ("/opt/datasets", False),
    ],
)
def test_paths_beside_a_mount(path: str, is_wrong: bool) -> None:
    pod = template(["python", "train.py", f"--data={path}"], 1)
    pod["spec"]["containers"][0]["volumeMounts"].append({"name": "pvc", "mountPath": "/datasets"})
    assert bool(said(pytorch(pod), "VOL022")) is is_wrong


def test_models_and_the_volumes_of_their_cache() -> None:
    def made(model: str, size: str, **env: str) -> Data:
        pod = template(["python", "train.py", f"--model={model}"], 1, env={"HF_HOME": "/cache", **env})
        pod["spec"]["containers"][0]["volumeMounts"].append({"name": "cache", "mountPath": "/cache"})
        pod["spec"]["volumes"].append({"name": "cache", "emptyDir": {"sizeLimit": size}})
        return pytorch(pod)

    assert said(made("example/Model-70b-hf", "50Gi"), "RES023")
    assert said(made("example/Model-7B", "10Gi"), "RES023")
    assert not said(made("example/Model-7B", "20Gi"), "RES023")
    assert not said(made("example/Model-70b-GPTQ", "50Gi"), "RES023")
    assert not said(made("/models/model-70b", "50Gi"), "RES023")
    assert not said(made("example/Model-70b", "50Gi", HF_HUB_OFFLINE="1"), "RES023")


def test_slots_of_horovodrun() -> None:
    def said_of(*command: str) -> list[str]:
        return said(generic(replicas("worker", 1, template([*command, "python", "train.py"], 4))), "MPI003")

    line = ("horovodrun", "-np", "16", "-H", "a:4,b:4")
    assert said_of(*line)
    assert said_of("/opt/bin/wait-for-ssh-then", *line)
    assert said_of("/entrypoint.sh", *line)
    assert not said_of("horovodrun", "-np", "8", "-H", "a:4,b:4")
    assert not said_of("horovodrun", "-np", "16", "-hostfile", "/etc/hosts.txt")


def test_public_images_for_the_cpu() -> None:
    def made(image: str) -> Data:
        job = run_by_python(["train.py"])
        job["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["image"] = image
        return job

    assert said(made("tensorflow/tensorflow:2.16.1"), "RES018")
    assert said(made("docker.io/rayproject/ray:2.31.0"), "RES018")
    assert not said(made("tensorflow/tensorflow:2.16.1-gpu"), "RES018")
    assert not said(made("registry.example.com/tensorflow/tensorflow:2.16.1"), "RES018")
    assert not said(made("rayproject/ray:2.31.0-py311-cu121"), "RES018")


def test_variables_that_need_another_value() -> None:
    split = ["--sequence-parallel", "--tensor-model-parallel-size=4"]
    assert said(launched(split, env={"CUDA_DEVICE_MAX_CONNECTIONS": "8"}), "CR018")
    assert not said(launched(split, env={"CUDA_DEVICE_MAX_CONNECTIONS": "1"}), "CR018")
    assert not said(launched([], env={"CUDA_DEVICE_MAX_CONNECTIONS": "8"}), "CR018")
    off = template(["python", "train.py"], 8, env={"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"})
    assert not said(pytorch(off, 2), "CR018")
    endless = pytorch(off, 2)
    del endless["spec"]["runPolicy"]["activeDeadlineSeconds"]
    assert said(endless, "CR018")


def test_waits_for_replicas_that_start_together() -> None:
    wait = "until nc -z $(service.head[0].host) 6379; do sleep 2; done; python a.py"
    head = replicas("head", 1, template(["python", "head.py"]))
    worker = replicas("worker", 2, template(["bash", "-c", wait], 1))
    assert not said(generic(head, worker), "GEN003")
    assert said(generic(head, worker, failureRules=[{"worker": [0]}]), "GEN003")
    assert said(generic(head, worker, scheduler={}), "GEN003")
    assert said(generic(head, worker, cleanUpPolicy="None"), "GEN003")
    other = template(["python", "head.py"])
    other["spec"]["containers"][0]["image"] = "registry.example.com/other:1"
    assert said(generic(replicas("head", 1, other), worker), "GEN003")


def test_loops_that_wait_for_each_process() -> None:
    started = "set -e; pids=(); for s in 1 2; do python a.py --seed $s & pids+=($!); done; "
    assert not said(in_shell(f'{started}for pid in "${{pids[@]}}"; do wait "$pid"; done'), "LIFE017")
    assert said(in_shell(f"{started}wait"), "LIFE017")


def test_disks_in_memory_above_the_limit() -> None:
    def made(size: str) -> Data:
        pod = template(["python", "train.py"], 1)
        pod["spec"]["containers"][0]["volumeMounts"].append({"name": "fast", "mountPath": "/fast"})
        pod["spec"]["volumes"].append({"name": "fast", "emptyDir": {"medium": "Memory", "sizeLimit": size}})
        return pytorch(pod)

    assert said(made("300Gi"), "RES002") == [
        "/fast may grow to 300Gi, but the memory limit of the Pod is 64Gi: "
        "the container is killed before the volume is full"
    ]
    assert not said(made("32Gi"), "RES002")
