"""Launchers and rendezvous beyond the examples of the policies: other kinds, dialects and spellings."""

from __future__ import annotations

from typing import Any

import pytest

from podplan.core.findings import to_json_pointer
from tests.policy_examples import findings
from tests.test_checks_distributed import cr, deepspeed, generic, pytorch, template

Data = dict[str, Any]


def reported(job: Data, *codes: str) -> list[str]:
    """What the rules say of a job, as "CODE PATH message"."""
    found = [one for code in codes for one in findings({"object": job}, code) if one.rule == code]
    return [f"{one.rule} {to_json_pointer(one.location.path)} {one.message}" for one in found]


def said(job: Data, *codes: str) -> list[str]:
    """The same without the paths."""
    return [" ".join(line.split(" ")[:1] + line.split(" ")[2:]) for line in reported(job, *codes)]


def torchrun(replicas: int, config: Data, elastic: Data | None = None) -> Data:
    made = {"spec": {"containers": [{"name": "python", "image": "a:1", "args": ["train.py"]}]}}
    spec: Data = {
        "torchrunConfig": {"enabled": True, **config},
        "replicaSpecs": [{"type": "worker", "replicas": replicas, "template": made}],
    }
    return cr("PyTorchTrainingJob", spec | ({"elastic": elastic} if elastic else {}))


def custom(workers: int, command: str, gpus: int = 0) -> Data:
    job = deepspeed(workers, max(gpus, 1), [], gpus)
    job["spec"]["config"] = {"slotsPerWorker": max(gpus, 1), "customCommand": command}
    return job


WORKER: Data = {"spec": {"containers": [{"name": "worker", "image": "colossalai:1"}]}}
LAUNCHER: Data = {"spec": {"containers": [{"name": "launcher", "image": "colossalai:1"}]}}


def colossal(workers: int = 2, launcher: Data | None = LAUNCHER, **config: Any) -> Data:
    """A ColossalAIJob with torchConfig and replicaSpecs."""
    specs: list[Data] = [{"type": "launcher", "template": launcher}] if launcher is not None else []
    specs.append({"type": "worker", "replicas": workers, "template": WORKER})
    config = {"procPerWorker": 1, "script": ["train.py"], **config}
    return cr("ColossalAIJob", {"torchConfig": config, "replicaSpecs": specs})


def colossal_launcher(workers: int = 2, **worker: Any) -> Data:
    """The same with launcher and worker."""
    made = {"replicas": workers, "command": ["train.py"], **worker, "template": WORKER}
    return cr("ColossalAIJob", {"launcher": {"image": "colossalai:1"}, "worker": made})


# Rendezvous backends

AT_FIRST = "--rdzv_endpoint=$(service.w[0].host):2379"


@pytest.mark.parametrize("backend", ["c10d", "etcd", "etcd-v2", "static"])
def test_backends_of_torch_are_known(backend: str) -> None:
    assert said(torchrun(2, {"rdzvBackend": backend}), "TORCH003") == []


@pytest.mark.parametrize(
    ("job", "backend"),
    [
        (torchrun(2, {"rdzvBackend": "nccl"}), "nccl"),
        (torchrun(2, {"extraOptions": ["--rdzv-backend", "zeus"]}), "zeus"),
        (torchrun(2, {"rdzvBackend": "nccl", "extraOptions": ["--rdzv_backend=c10d"]}), ""),
        (generic({"w": 2}, "python -m torch.distributed.run --nnodes=2 --rdzv_backend=mpi a.py"), "mpi"),
        (
            generic({"w": 2}, "accelerate launch --multi_gpu --num_processes=4 --rdzv_backend=nccl a.py"),
            "nccl",
        ),
        (generic({"w": 2}, "accelerate launch --num_processes=1 --rdzv_backend=nccl a.py"), ""),
        (custom(2, "torchrun --rdzv_backend=gloo a.py"), "gloo"),
        (colossal(extraArgs=["--rdzv_backend=gloo"]), "gloo"),
        (colossal_launcher(torchArgs=["--rdzv_backend=gloo"]), "gloo"),
        (pytorch(1, 0, "BACKEND=nccl; torchrun --rdzv_backend=$BACKEND a.py"), "nccl"),
        (pytorch(1, 0, "torchrun --rdzv_backend=$BACKEND a.py"), ""),
        (torchrun(2, {"extraOptions": ["--rdzv_backend=c10d --tee=3"]}), ""),
    ],
)
def test_backends_that_torch_does_not_have(job: Data, backend: str) -> None:
    found = said(job, "TORCH003")
    assert len(found) == bool(backend)
    assert not backend or f'does not have the rendezvous backend "{backend}"' in found[0]


@pytest.mark.parametrize(
    ("job", "where"),
    [
        (torchrun(2, {"rdzvBackend": "etcd"}), "train-worker-0, a Pod of this job that runs no etcd"),
        (
            torchrun(1, {"rdzvBackend": "etcd", "extraOptions": ["--rdzv_endpoint=127.0.0.1:2379"]}),
            "127.0.0.1",
        ),
        (torchrun(2, {"rdzvBackend": "etcd", "extraOptions": ["--rdzv_endpoint=etcd:2379"]}), ""),
        (torchrun(2, {"rdzvBackend": "etcd", "extraOptions": ["--standalone"]}), ""),
        (
            generic({"w": 1}, "torchrun --rdzv_backend=etcd a.py"),
            "localhost:2379, because no endpoint is set",
        ),
        (generic({"w": 1}, "torchrun --rdzv_backend=etcd --rdzv_endpoint=$ETCD a.py"), ""),
        (generic({"w": 1}, f"etcd & torchrun --rdzv_backend=etcd {AT_FIRST} a.py"), ""),
    ],
)
def test_an_etcd_backend_needs_a_server(job: Data, where: str) -> None:
    assert [line.rpartition(" at ")[2] for line in said(job, "TORCH004")] == ([where] if where else [])


def test_the_endpoint_of_an_etcd_server_is_not_given_twice() -> None:
    endpoint = ["--rdzv_endpoint=etcd:2379"]
    assert said(torchrun(2, {"rdzvBackend": "etcd", "extraOptions": endpoint}), "TORCH002") == []
    by_option = [*endpoint, "--rdzv_backend=etcd-v2"]
    assert said(torchrun(2, {"extraOptions": by_option}), "TORCH002") == []
    assert len(said(torchrun(2, {"extraOptions": endpoint}), "TORCH002")) == 1


# --standalone


@pytest.mark.parametrize(
    ("job", "codes"),
    [
        (torchrun(4, {"extraOptions": ["--standalone"]}), ["DIST004"]),
        (torchrun(1, {"extraOptions": ["--standalone"]}), []),
        (torchrun(4, {"extraOptions": ["--standalone", "--nnodes=1"]}), ["DIST007"]),
        (generic({"w": 4}, "torchrun --nnodes=4 --standalone a.py"), ["DIST004"]),
        (generic({"w": 4}, "torchrun --standalone a.py"), ["DIST007"]),
        (generic({"w": 1}, "torchrun --nnodes=2 --standalone a.py"), ["DIST002"]),
        (generic({"w": 1}, "torchrun --nnodes=1 --standalone a.py"), []),
    ],
)
def test_standalone_waits_or_trains_alone(job: Data, codes: list[str]) -> None:
    assert [line.split()[0] for line in said(job, "DIST002", "DIST004", "DIST007")] == codes


# Elastic jobs

BOUNDS = {"enabled": True, "minReplicas": 2, "maxReplicas": 4, "expectedReplicas": 4}


@pytest.mark.parametrize(
    ("config", "codes"),
    [
        ({"rdzvBackend": "static"}, ["LIFE015"]),
        ({"extraOptions": ["--rdzv-backend", "static"]}, ["LIFE015"]),
        ({"rdzvBackend": "static", "extraOptions": ["--rdzv_backend=c10d"]}, []),
        ({"rdzvBackend": "c10d"}, []),
        ({}, []),
        ({"enabled": False}, ["LIFE007"]),
    ],
)
def test_elastic_jobs_need_torchrun_and_no_static_rendezvous(config: Data, codes: list[str]) -> None:
    job = torchrun(4, config, BOUNDS)
    assert [line.split()[0] for line in said(job, "LIFE007", "LIFE015")] == codes


# customCommand


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("torchrun --nproc_per_node=8 a.py", True),
        ("cd /w && exec accelerate launch --num_processes=8 a.py", True),
        ("python -m torch.distributed.launch --nproc_per_node=8 a.py", True),
        ("python a.py", True),
        ("python a.py --hostfile=/t9k/hostfile", False),
        ("deepspeed a.py", False),
        ("mpirun -np 2 torchrun a.py", False),
        ("pdsh -w train-worker-[0-1] torchrun a.py", False),
        ("ssh train-worker-1 torchrun a.py & torchrun a.py", False),
        ("bash start.sh", False),
        ("if [ -f x ]; then torchrun a.py; else deepspeed --hostfile=/t9k/hostfile a.py; fi", False),
        ("sleep inf", False),
    ],
)
def test_a_custom_command_that_leaves_workers_out(command: str, found: bool) -> None:
    assert bool(said(custom(2, command), "DS009")) is found
    assert said(custom(1, command), "DS009") == []


def test_a_custom_command_of_one_worker_is_counted() -> None:
    [line] = said(custom(1, "torchrun --nproc_per_node=4 a.py", gpus=8), "DIST001")
    assert line == "DIST001 torchrun starts 4 processes in each Pod, so 4 of its 8 GPUs are idle"
    assert len(said(custom(1, "python a.py", gpus=8), "DIST001")) == 1
    assert said(custom(1, "torchrun --nproc_per_node=8 a.py", gpus=8), "DIST001") == []
    assert said(custom(2, "python a.py", gpus=8), "DIST001") == []


def test_the_launchers_of_a_custom_command_are_checked() -> None:
    assert said(custom(1, "torchrun --nnodes=x a.py"), "TORCH001") == [
        'TORCH001 torchrun rejects its command line: --nnodes must be N or MIN:MAX, not "x"'
    ]
    assert len(said(custom(1, "accelerate launch --cpu --tpu a.py"), "DIST012")) == 1
    assert len(said(custom(1, "torchrun python a.py"), "DIST013")) == 1
    assert len(said(custom(1, "deepspeed python a.py"), "DIST013")) == 1


# colossalai run

ARGUMENTS = [
    (["--max_restarts=3", "--tee=3"], []),
    (["--max_restarts", "3"], [0]),
    (["--tee=3", "--max_restarts", "3"], [1]),
    (["--standalone=1"], [0]),
    (["--local_ranks_filter=0,1"], [0]),
    (["--rdzv_conf=timeout=900"], [0]),
    (["--tee=3,max_restarts=1"], []),
    (["-t", "3"], [0]),
    (["-t=3"], [0]),
    (["--nope"], [0]),
    (["--nproc_per_node=2"], [0]),
    (["--master_port=1234"], []),
    (["--rdzv_backend=c10d"], [0]),
    (["--rdzv_backend=c10d,rdzv_endpoint=train-worker-0:29400"], []),
    (["max_restarts=3"], []),
    (["--max_restarts 3"], []),
    (["--module"], [0]),
]


@pytest.mark.parametrize(("words", "at"), ARGUMENTS)
def test_options_of_torchrun_that_colossalai_run_hands_on(words: list[str], at: list[int]) -> None:
    found = reported(colossal(extraArgs=words), "CA004")
    assert [line.split()[1] for line in found] == [f"/spec/torchConfig/extraArgs/{index}" for index in at]
    found = reported(colossal_launcher(torchArgs=words), "CA004")
    assert [line.split()[1] for line in found] == [f"/spec/worker/torchArgs/{index}" for index in at]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (["train.py", "--lr", "1", "--model=gpt", "-lr", "1"], []),
        (["train.py", "--host", "x", "--num_nodes=1"], ["--host", "--num_nodes=1"]),
        (["train.py", "-num_layers", "3"], ["-num_layers"]),
        (["train.py", "-H", "x"], ["-H"]),
        (["train.py", "--", "-m", "x"], []),
        (["train.py", "--master", "x"], []),
        (["train.py", "--ssh-port=3"], ["--ssh-port=3"]),
    ],
)
def test_arguments_of_the_script_that_colossalai_run_takes(script: list[str], words: list[str]) -> None:
    expected = [f'CA005 "{word}" does not reach the script' for word in words]
    assert [line.partition(",")[0] for line in said(colossal(script=script), "CA005")] == expected
    found = said(colossal_launcher(command=script), "CA005")
    assert [line.partition(",")[0] for line in found] == expected


def test_variables_of_torchrun_on_the_launcher() -> None:
    def launcher(**env: str) -> Data:
        listed = [{"name": name, "value": value} for name, value in env.items()]
        return {"spec": {"containers": [{**LAUNCHER["spec"]["containers"][0], "env": listed}]}}

    assert said(colossal(launcher=launcher(PET_NNODES="1")), "CR009") == [
        "CR009 PET_NNODES has no effect: torchrun has the option --nnodes"
    ]
    assert said(colossal(launcher=launcher(PET_TEE="3")), "CR009") == []
    assert len(said(colossal(launcher=launcher(PET_RDZV_BACKEND="nccl")), "TORCH003")) == 1


def test_where_the_variables_of_a_launcher_are_written() -> None:
    job = colossal(launcher=None)
    worker = template(0, [], env=[{"name": "DATA", "value": "/d"}])
    job["spec"]["replicaSpecs"][0]["template"] = worker
    [finding] = [one for one in findings({"object": job}, "SSH001") if one.rule == "SSH001"]
    assert "replica spec of type launcher" in finding.help


# Replicas that must exist


@pytest.mark.parametrize(
    ("job", "path"),
    [
        (colossal(workers=0), "/spec/replicaSpecs/1/replicas"),
        (colossal_launcher(workers=0), "/spec/worker/replicas"),
        (colossal(), ""),
        (colossal(launcher=None), ""),
        (colossal_launcher(), ""),
        (deepspeed(0, 1, []), "/spec/worker/replicas"),
        (deepspeed(1, 1, []), ""),
        (pytorch(0, 0, "python a.py"), "/spec/replicaSpecs/0/replicas"),
        (torchrun(0, {}, BOUNDS), ""),
        (torchrun(0, {}, {**BOUNDS, "enabled": False}), "/spec/replicaSpecs/0/replicas"),
        (generic({"a": 0, "b": 0}, "python a.py"), "/spec/replicaSpecs/0/replicas"),
        (generic({"a": 0, "b": 1}, "python a.py"), ""),
    ],
)
def test_types_that_must_have_replicas(job: Data, path: str) -> None:
    assert [line.split()[1] for line in reported(job, "CR017")] == ([path] if path else [])


def test_a_job_without_a_replica_spec_of_workers() -> None:
    job = colossal()
    del job["spec"]["replicaSpecs"][1]
    assert said(job, "CR017") == [
        "CR017 the job has no worker, so the launcher has no host to start the training on"
    ]


@pytest.mark.parametrize(
    ("path", "user", "found"),
    [
        ("/root/.ssh", None, False),
        ("/root/.ssh/", None, False),
        ("/home/mpi/.ssh", None, False),
        ("/home/mpi/.ssh", 1000, False),
        ("/home/mpi/.ssh", 0, True),
        ("/etc/keys", None, True),
        ("/root/keys", 0, True),
        ("/.ssh-keys", 1000, True),
    ],
)
def test_keys_in_the_home_of_the_user(path: str, user: int | None, found: bool) -> None:
    job = colossal()
    job["spec"]["ssh"] = {"authMountPath": path}
    for spec in job["spec"]["replicaSpecs"] if user is not None else ():
        containers = [
            {**one, "securityContext": {"runAsUser": user}} for one in spec["template"]["spec"]["containers"]
        ]
        spec["template"] = {"spec": {"containers": containers}}
    assert bool(said(job, "SSH014")) is found
