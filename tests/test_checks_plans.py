"""Jobs that contradict their own plan: deadlines, retries, restarts, ranks, batches, threads and GPUs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podplan.lint.checks.planned_time import duration
from tests.policy_examples import findings

Data = dict[str, Any]
CLAIM = {"name": "pvc", "persistentVolumeClaim": {"claimName": "pvc"}}
SHM = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}}


def template(command: list[str], gpus: int = 0, cpu: str = "16", **pod: Any) -> Data:
    """A Pod template; ``env`` and ``args`` are those of the container, all else of the Pod."""
    fields: Data = {key: pod.pop(key) for key in ("args", "securityContext") if key in pod}
    env = [{"name": name, "value": value} for name, value in pod.pop("env", {}).items()]
    limits: Data = {"cpu": cpu, "memory": "64Gi"}
    if gpus:
        limits["nvidia.com/gpu"] = gpus
    mounts = [{"name": "shm", "mountPath": "/dev/shm"}, {"name": "pvc", "mountPath": "/pvc"}]
    container: Data = {
        "name": "train",
        "image": "registry.example.com/train:1",
        "command": command,
        **fields,
        "env": env,
        "volumeMounts": [*mounts, *pod.pop("mounts", [])],
        "resources": {"requests": {"cpu": cpu, "memory": "64Gi"}, "limits": limits},
    }
    if not command:
        del container["command"]
    return {"spec": {"containers": [container], "volumes": [SHM, CLAIM, *pod.pop("volumes", [])], **pod}}


def job(kind: str, spec: Data, name: str = "train") -> Data:
    metadata = {"name": name, "namespace": "nlp"}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }


def pytorch(
    pod: Data, replicas: int = 1, policy: str = "OnFailure", name: str = "train", **spec: Any
) -> Data:
    run = {"activeDeadlineSeconds": 86400, "backoffLimit": 4, "cleanUpPolicy": "Unfinished"}
    role: Data = {"type": "worker", "replicas": replicas, "restartPolicy": policy, "template": pod}
    if "elastic" in spec:
        del role["replicas"]
    return job(
        "PyTorchTrainingJob",
        {"runPolicy": {**run, **spec.pop("run", {})}, **spec, "replicaSpecs": [role]},
        name,
    )


def generic(*types: Data, **spec: Any) -> Data:
    rules = [{one["type"]: [at]} for one in types for at in range(one.get("replicas", 1))]
    fields = {
        "service": {"ports": [{"name": "dist", "port": 23456}]},
        "successRules": [{types[0]["type"]: [0]}],
        "failureRules": rules,
        "cleanUpPolicy": "Unfinished",
        "scheduler": {"t9kScheduler": {"queue": "research", "priority": 50}},
        **spec,
    }
    return job("GenericJob", {**fields, "replicaSpecs": list(types)})


def replicas(type_: str, number: int, pod: Data, **restart: Any) -> Data:
    return {
        "type": type_,
        "replicas": number,
        "restartPolicy": restart or {"policy": "Never"},
        "template": pod,
    }


def said(given: Data | list[Data], code: str) -> list[str]:
    """The messages of a rule about a job, or about documents together."""
    example = {"objects": given} if isinstance(given, list) else {"object": given}
    return [found.message for found in findings(example, code) if found.rule == code]


# Elastic training without restarts.

ELASTIC = {"enabled": True, "minReplicas": 2, "expectedReplicas": 4, "maxReplicas": 8}


def elastic(torchrun: Data, policy: str = "ExitCode", **run: Any) -> Data:
    config = {"enabled": True, "procPerNode": "1", **torchrun}
    pod = template([], 1, args=["train.py"])
    return pytorch(pod, policy=policy, elastic=ELASTIC, torchrunConfig=config, run=run)


def by_hand(words: list[str], **restart: Any) -> Data:
    rendezvous = ["--rdzv_backend=c10d", "--rdzv_endpoint=$(service.worker[0].host):29400", "--rdzv_id=a"]
    pod = template(["torchrun", *words, "--nproc_per_node=1", *rendezvous, "train.py"], 1)
    return generic(replicas("worker", 4, pod, **restart))


def test_elastic_without_restarts() -> None:
    assert said(elastic({"maxRestarts": 0}), "LIFE027")
    assert said(elastic({"maxRestarts": 0}, "Never"), "LIFE027")
    assert said(elastic({"maxRestarts": 0}, "OnFailure"), "LIFE027")  # four retries for up to eight replicas
    assert said(elastic({"extraOptions": ["--max-restarts=0"]}), "LIFE027")
    assert said(by_hand(["--nnodes=2:4", "--max-restarts=0"]), "LIFE027")
    assert said(by_hand(["--nnodes=2:4", "--max_restarts", "0"], policy="OnFailure", limit=2), "LIFE027")


def test_elastic_with_restarts() -> None:
    assert not said(elastic({"maxRestarts": 3}), "LIFE027")
    assert not said(elastic({}), "LIFE027")  # nothing documents the default of the controller
    assert not said(elastic({"maxRestarts": 0}, "OnFailure", backoffLimit=40), "LIFE027")
    assert not said(by_hand(["--nnodes=2:4", "--max_restarts=9"]), "LIFE027")
    assert not said(by_hand(["--nnodes=2:4", "--max-restarts=0"], policy="OnFailure", limit=20), "LIFE027")
    assert not said(by_hand(["--nnodes=2:4"]), "LIFE027")
    assert not said(by_hand(["--nnodes=4"]), "LIFE027")


# Retries that are never used.


@pytest.mark.parametrize(
    "pod",
    [
        {"nodeSelector": {"cloud.google.com/gke-spot": "true"}},
        {"nodeSelector": {"eks.amazonaws.com/capacityType": "SPOT"}},
        {"nodeSelector": {"karpenter.sh/capacity-type": "spot"}},
        {"tolerations": [{"key": "kubernetes.azure.com/scalesetpriority", "value": "spot"}]},
        {"tolerations": [{"key": "preemptible", "operator": "Exists"}]},
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["gpu-spot"]}]}
                        ]
                    }
                }
            }
        },
    ],
)
def test_retries_on_nodes_that_are_taken_away(pod: Data) -> None:
    given = template(["python", "train.py"], **pod)
    assert said(pytorch(given, policy="Never"), "LIFE028")
    assert not said(pytorch(given, policy="OnFailure"), "LIFE028")
    assert not said(pytorch(given, policy="Never", run={"backoffLimit": 0}), "LIFE028")
    assert said(generic(replicas("worker", 1, given, policy="Never", limit=3)), "LIFE028")
    assert not said(generic(replicas("worker", 1, given, policy="Never")), "LIFE028")


@pytest.mark.parametrize(
    "labels",
    [
        {"pool": "spotlight"},
        {"cloud.google.com/gke-spot": "false"},
        {"node.example.com/lifecycle": "on-demand"},
        {"spotty": "true"},
    ],
)
def test_retries_on_nodes_that_stay(labels: Data) -> None:
    assert not said(pytorch(template(["python", "a.py"], nodeSelector=labels), policy="Never"), "LIFE028")


# The deadline, and the time that a command plans.


@pytest.mark.parametrize(
    ("name", "value", "seconds"),
    [
        ("max_time", "03:00:00:00", 259_200),
        ("max_time", "01:12:00:00", 129_600),
        ("time_limit", "2-00:00:00", 172_800),
        ("walltime", "48:00:00", 172_800),
        ("max_time", "72h", 259_200),
        ("time_budget", "3 days", 259_200),
        ("max_runtime", "1d12h", 129_600),
        ("max_train_hours", "36", 129_600),
        ("exit_duration_in_mins", "4320", 259_200),
        ("max_time_in_seconds", "90000", 90_000),
        ("max_wall_time_hours", "1.5", 5400),
        ("max_hours", "30", 108_000),
        ("max_time", "100000", 0),
        ("max_time", "48:00", 0),
        ("max_wait_time", "72h", 0),
        ("eval_time_limit", "72h", 0),
        ("ddp_timeout", "180000000", 0),
        ("max_duration", "3ep", 0),
        ("max_steps", "100000", 0),
        ("max_epochs", "3d", 0),
        ("max_new_tokens", "512", 0),
        ("max_time", "", 0),
    ],
)
def test_duration(name: str, value: str, seconds: int) -> None:
    assert duration(name, value) == seconds


@pytest.mark.parametrize(
    "command",
    [
        ["python", "fit.py", "--trainer.max_time=03:00:00:00"],
        ["python", "fit.py", "--max-time", "72h"],
        ["bash", "-c", "cd /a && exec torchrun --nproc_per_node=1 t.py --exit-duration-in-mins 4320"],
        ["timeout", "-k", "60", "2d", "python", "fit.py"],
        ["timeout", "100000", "python", "fit.py"],
        ["bash", "-c", "set -e; timeout --signal=USR1 30h python fit.py"],
    ],
)
def test_deadline_before_the_planned_end(command: list[str]) -> None:
    assert said(pytorch(template(command)), "LIFE029")
    assert not said(pytorch(template(command), run={"activeDeadlineSeconds": 300_000}), "LIFE029")
    without = pytorch(template(command))
    del without["spec"]["runPolicy"]["activeDeadlineSeconds"]
    assert not said(without, "LIFE029")
    without["spec"]["replicaSpecs"][0]["template"]["spec"]["activeDeadlineSeconds"] = 3600
    assert said(without, "LIFE029")


@pytest.mark.parametrize(
    "command", [["timeout", "20h", "python", "a.py"], ["timeout", "$(T)", "python", "a.py"]]
)
def test_deadline_after_the_planned_end(command: list[str]) -> None:
    assert not said(pytorch(template(command)), "LIFE029")


# Checkpoints that each restart throws away.


@pytest.mark.parametrize(
    "command",
    [
        ["python", "run_mlm.py", "--do_train", "--overwrite_output_dir", "--output_dir=/pvc/a"],
        ["python", "run_mlm.py", "--overwrite-output-dir", "true"],
        ["python", "train.py", "--resume=false"],
        ["python", "train.py", "trainer.resume=False"],
        ["python", "train.py", "--auto-resume", "no"],
        ["python", "train.py", "--no-resume"],
        ["bash", "-c", "rm -rf /pvc/a\npython train.py --output_dir /pvc/a"],
        ["bash", "-c", "rm -fr /pvc/a/* && exec python train.py --save-dir=/pvc/a"],
        ["bash", "-c", "rm -r /pvc; mkdir -p /pvc/a; python train.py --save-dir=/pvc/a"],
    ],
)
def test_progress_that_restarts_discard(command: list[str]) -> None:
    assert said(pytorch(template(command)), "LIFE030")
    assert said(pytorch(template(command), policy="ExitCode"), "LIFE030")
    assert said(generic(replicas("worker", 1, template(command), policy="OnFailure", limit=2)), "LIFE030")
    assert not said(pytorch(template(command), policy="Never"), "LIFE030")
    assert not said(pytorch(template(command), run={"backoffLimit": 0}), "LIFE030")
    assert not said(generic(replicas("worker", 1, template(command), policy="OnFailure")), "LIFE030")


@pytest.mark.parametrize(
    "command",
    [
        ["python", "run_mlm.py", "--overwrite_output_dir=False"],
        ["python", "run_mlm.py", "--overwrite_output_dir", "--resume_from_checkpoint", "/pvc/a/last"],
        ["python", "run_mlm.py", "--overwrite_output_dir", "--save_strategy=no"],
        ["python", "train.py", "resume_from=null"],
        ["python", "train.py", "--resume"],
        ["python", "train.py", "--from-scratch"],
        ["python", "prepare.py", "--overwrite_cache"],
        ["bash", "-c", "rm -rf /tmp/cache; python train.py --output_dir /pvc/a"],
        ["bash", "-c", "rm -f /pvc/a/lock; python train.py --output_dir /pvc/a"],
        ["bash", "-c", "[ -d /pvc/a ] || rm -rf /pvc/a; python train.py --output_dir /pvc/a"],
        ["bash", "-c", 'if [ -n "$FRESH" ]; then rm -rf /pvc/a; fi; python train.py --output_dir /pvc/a'],
    ],
)
def test_progress_that_is_kept(command: list[str]) -> None:
    assert not said(pytorch(template(command)), "LIFE030")


def test_restarts_of_torchrun_repeat_options_and_no_commands() -> None:
    config = {"enabled": True, "procPerNode": "1", "maxRestarts": 3}
    pod = template([], 1, args=["run_mlm.py", "--overwrite_output_dir", "--output_dir=/pvc/a"])
    assert said(pytorch(pod, policy="Never", torchrunConfig=config), "LIFE030")
    config["maxRestarts"] = 0
    assert not said(pytorch(pod, policy="Never", torchrunConfig=config), "LIFE030")
    line = "rm -rf /pvc/a; torchrun --nproc_per_node=1 --max_restarts=3 train.py --output_dir=/pvc/a"
    assert not said(pytorch(template(["bash", "-c", line], 1), policy="Never"), "LIFE030")


# Servers that nobody ends.


@pytest.mark.parametrize(
    "command",
    [
        ["vllm", "serve", "/m"],
        ["trl", "vllm-serve", "--model=/m"],
        ["python", "-m", "vllm.entrypoints.openai.api_server", "--model", "/m"],
        ["python3", "-m", "sglang.launch_server", "--model-path", "/m"],
        ["text-generation-launcher", "--model-id", "/m"],
        ["ray", "start", "--address=head:6379", "--block"],
        ["/usr/sbin/sshd", "-D"],
        ["sleep", "infinity"],
        ["bash", "-c", "source /env; exec tritonserver --model-repository=/m"],
    ],
)
def test_servers_that_are_left(command: list[str]) -> None:
    types = [
        replicas("learner", 1, template(["python", "a.py"], 1)),
        replicas("server", 2, template(command, 1)),
    ]
    assert said(generic(*types, cleanUpPolicy="None"), "LIFE031")
    without = generic(*types)
    del without["spec"]["cleanUpPolicy"]
    assert said(without, "LIFE031")
    assert not said(generic(*types), "LIFE031")
    assert not said(generic(*types, cleanUpPolicy="All"), "LIFE031")
    no_gpus = [types[0], replicas("server", 2, template(command))]
    assert not said(generic(*no_gpus, cleanUpPolicy="None"), "LIFE031")
    debug = {"debug": {"enabled": True}}
    assert not said(generic(*types, cleanUpPolicy="None", runMode=debug), "LIFE031")


def test_servers_that_the_job_waits_for_or_that_end() -> None:
    server = replicas("server", 1, template(["vllm", "serve", "/m"], 1))
    assert not said(generic(server, cleanUpPolicy="None"), "LIFE031")
    ends = replicas("server", 1, template(["timeout", "2h", "vllm", "serve", "/m"], 1))
    learner = replicas("learner", 1, template(["python", "a.py"], 1))
    assert not said(generic(learner, ends, cleanUpPolicy="None"), "LIFE031")
    bench = replicas("bench", 1, template(["vllm", "bench", "throughput"], 1))
    assert not said(generic(learner, bench, cleanUpPolicy="None"), "LIFE031")


# Switches for debugging.


@pytest.mark.parametrize(
    "env",
    [
        {"CUDA_LAUNCH_BLOCKING": "1"},
        {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"},
        {"NCCL_DEBUG": "TRACE"},
        {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
        {"AMD_SERIALIZE_KERNEL": "3"},
        {"JAX_DISABLE_JIT": "true"},
    ],
)
def test_debug_switches(env: Data) -> None:
    (name, value), *_ = env.items()
    assert said(pytorch(template(["python", "a.py"], 8, env=env)), "DIST019")
    assert said(pytorch(template([], 8, args=["a.py"], env=env)), "DIST019")
    assert said(pytorch(template(["bash", "-c", f"export {name}={value}; python a.py"], 8)), "DIST019")
    assert said(pytorch(template(["env", f"{name}={value}", "python", "a.py"], 8)), "DIST019")
    assert not said(pytorch(template(["python", "a.py"], 1, env=env)), "DIST019")
    assert not said(pytorch(template(["python", "a.py"], 8, env=env), name="train-debug"), "DIST019")
    debug = {"debug": {"enabled": True}}
    assert not said(pytorch(template(["python", "a.py"], 8, env=env), runMode=debug), "DIST019")


@pytest.mark.parametrize(
    "env",
    [
        {"CUDA_LAUNCH_BLOCKING": "0"},
        {"CUDA_LAUNCH_BLOCKING": "$(DEBUG)"},
        {"TORCH_DISTRIBUTED_DEBUG": "INFO"},
        {"NCCL_DEBUG": "INFO"},
        {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "1"},
    ],
)
def test_switches_without_a_cost(env: Data) -> None:
    assert not said(pytorch(template(["python", "a.py"], 8, env=env)), "DIST019")


def test_debug_options() -> None:
    assert said(pytorch(template(["python", "a.py", "--detect-anomaly"], 8)), "DIST019")
    assert said(pytorch(template(["python", "a.py", "trainer.detect_anomaly=true"], 8)), "DIST019")
    assert not said(pytorch(template(["python", "a.py", "trainer.detect_anomaly=false"], 8)), "DIST019")
    guarded = 'if [ -n "$DEBUG" ]; then export CUDA_LAUNCH_BLOCKING=1; fi; python a.py'
    assert not said(pytorch(template(["bash", "-c", guarded], 8)), "DIST019")


# Ranks and world sizes of a GenericJob.


def env_of(world: str, rank: str = "$(rank)", **more: str) -> Data:
    return {"MASTER_ADDR": "$(service.worker[0].host)", "RANK": rank, "WORLD_SIZE": world, **more}


def ranked(number: int, world: str, gpus: int = 1, **more: str) -> Data:
    return replicas("worker", number, template(["python", "a.py"], gpus, env=env_of(world, **more)))


def test_world_sizes() -> None:
    assert said(generic(ranked(3, "4")), "DIST020")
    assert said(generic(ranked(3, "2")), "DIST020")
    assert said(generic(ranked(2, "4")), "DIST020")
    assert said(generic(ranked(2, "8", 4, LOCAL_RANK="0")), "DIST020")
    assert not said(generic(ranked(3, "3")), "DIST020")
    assert not said(generic(ranked(3, "$(replicas[worker])")), "DIST020")
    assert not said(generic(ranked(2, "8", 4)), "DIST020")  # the script may start a process for each GPU
    assert not said(generic(ranked(3, "$(SIZE)")), "DIST020")
    assert not said(generic(ranked(3, "4", MASTER_ADDR="train.other.svc")), "DIST020")  # others join as well


def test_world_sizes_in_other_places() -> None:
    words = ["python", "a.py", "--rank=$(rank)", "--world-size", "4"]
    assert said(generic(replicas("worker", 3, template(words, 1))), "DIST020")
    assert not said(generic(replicas("worker", 4, template(words, 1))), "DIST020")
    line = "export RANK=$(rank) WORLD_SIZE=4; exec python a.py"
    assert said(generic(replicas("worker", 3, template(["bash", "-c", line], 1))), "DIST020")
    assert said(generic(replicas("worker", 3, template([], 1, env=env_of("4")))), "DIST020")
    torchrun = ["torchrun", "--nnodes=3", "--nproc_per_node=1", "--node_rank=$(rank)", "a.py"]
    given = generic(replicas("worker", 3, template(torchrun, 1, env=env_of("4"))))
    assert not said(given, "DIST020")  # torchrun sets both


def test_ranks() -> None:
    other = replicas("other", 2, template(["python", "a.py"], 1, env=env_of("3")))
    assert said(generic(ranked(1, "3"), other), "DIST020")
    assert said(generic(ranked(3, "3", RANK="0")), "DIST020")
    shifted = template(["bash", "-c", "RANK=$((RANK + 1)) exec python a.py"], 1, env=env_of("3"))
    assert not said(generic(ranked(1, "3"), replicas("other", 2, shifted)), "DIST020")
    apart = replicas("other", 1, template(["python", "a.py"], 1, env=env_of("3", "2")))
    assert not said(generic(ranked(2, "3"), apart), "DIST020")
    beyond = replicas("other", 1, template(["python", "a.py"], 1, env=env_of("3", "3")))
    assert said(generic(ranked(2, "3"), beyond), "DIST020")
    assert not said(generic(ranked(4, "1", RANK="0")), "DIST020")  # each trains alone


# Failure rules.


def torchrun(*words: str) -> Data:
    place = ["--master_addr=$(service.worker[0].host)", "--master_port=29500"]
    command = ["torchrun", *words, "--nproc_per_node=1", "--node_rank=$(rank)", *place, "a.py"]
    return template(command, 1)


def test_failure_rules() -> None:
    worker = replicas("worker", 4, torchrun("--nnodes=4"))
    assert said(generic(worker, failureRules=[{"worker": [0, 1, 2, 3]}]), "GEN008")
    assert said(generic(worker, failureRules=[{"worker": [0, 1]}, {"worker": [2, 3]}]), "GEN008")
    by_env = replicas("worker", 2, template(["python", "a.py"], 1, env=env_of("2")))
    assert said(generic(by_env, failureRules=[{"worker": [0, 1]}]), "GEN008")
    assert not said(generic(worker), "GEN008")
    assert not said(generic(worker, failureRules=[{"worker": [0]}]), "GEN008")
    assert not said(generic(worker, failureRules=[{"worker": [0]}, {"worker": [1, 2, 3]}]), "GEN008")
    assert not said(generic(worker, failureRules=[]), "GEN008")
    alone = replicas("worker", 4, template(["python", "a.py"], 1))
    assert not said(generic(alone, failureRules=[{"worker": [0, 1, 2, 3]}]), "GEN008")


# mpirun as root.

ROOT, CONFIRM = "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"
MPIRUN = ["mpirun", "-np", "4", "python", "a.py"]


def mpi(env: Data, command: list[str] = MPIRUN, **pod: Any) -> list[str]:
    return said(generic(replicas("train", 1, template(command, 4, env=env, **pod))), "MPI004")


def test_mpirun_as_root() -> None:
    assert mpi({ROOT: "1"})
    assert mpi({CONFIRM: "1"})
    assert mpi({ROOT: "true", CONFIRM: "1"})
    assert mpi({ROOT: "1", CONFIRM: "yes"})
    assert mpi({"PRTE_ALLOW_RUN_AS_ROOT": "1"})
    assert mpi({}, ["bash", "-c", f"export {ROOT}=1; {' '.join(MPIRUN)}"])
    assert not mpi({})
    assert not mpi({ROOT: "1", CONFIRM: "1"})
    assert not mpi({ROOT: "1"}, ["mpirun", "--allow-run-as-root", *MPIRUN[1:]])
    assert not mpi({ROOT: "1", "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    assert not mpi({ROOT: "1"}, securityContext={"runAsUser": 1000})


# Threads.


def threads(number: str, processes: str, **fields: Any) -> list[str]:
    config = {"enabled": True, "procPerNode": processes, "maxRestarts": 1}
    pod = template([], 8, args=["a.py"], env={"OMP_NUM_THREADS": number}, **fields)
    return said(pytorch(pod, torchrunConfig=config), "RES015")


def test_threads() -> None:
    assert threads("64", "8")
    assert threads("4", "8")
    assert not threads("3", "8")
    assert not threads("2", "8")
    assert not threads("16", "8", cpu="128")
    assert not threads("$(N)", "8")
    by_hand = ["torchrun", "--standalone", "--nproc-per-node=8", "a.py"]
    given = generic(replicas("train", 1, template(by_hand, 8, env={"MKL_NUM_THREADS": "32"})))
    assert said(given, "RES015")
    one = pytorch(template(["python", "a.py"], 1, "4", env={"OMP_NUM_THREADS": "32"}))
    assert said(one, "RES015")


# Batch sizes of DeepSpeed.


def batches(config: Data | str, *words: str, mount: Data | None = None, slots: int = 8) -> list[str]:
    text = config if isinstance(config, str) else json.dumps(config)
    data = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"ds.json": text}}
    data["metadata"] = {"name": "conf", "namespace": "nlp"}
    mounts = [{"name": "conf", "mountPath": "/etc/ds", **(mount or {})}]
    pod = template([], 8, mounts=mounts, volumes=[{"name": "conf", "configMap": {"name": "conf"}}])
    pod["spec"]["containers"][0]["name"] = "worker"
    run = {"python": ["a.py", *(words or ["--deepspeed_config=/etc/ds/ds.json"])]}
    spec = {
        "config": {"slotsPerWorker": slots, "run": run},
        "worker": {"replicas": 2, "restartPolicy": "OnFailure", "template": pod},
        "runPolicy": {"cleanUpPolicy": "Unfinished"},
    }
    return said([data, job("DeepSpeedJob", spec)], "DS010")


def sizes(batch: Any, micro: Any, steps: Any, **more: Any) -> Data:
    return {
        "train_batch_size": batch,
        "train_micro_batch_size_per_gpu": micro,
        "gradient_accumulation_steps": steps,
        **more,
    }


def test_batch_sizes() -> None:
    assert batches(sizes(256, 4, 8))
    assert batches(sizes(256, 4, 8), "--deepspeed", "/etc/ds/ds.json")
    as_file = {"mountPath": "/etc/ds/z.json", "subPath": "ds.json"}
    assert batches(sizes(256, 4, 8), "--deepspeed_config=/etc/ds/z.json", mount=as_file)
    assert not batches(sizes(512, 4, 8))
    assert not batches(sizes(256, 4, 8), slots=4)
    assert not batches(sizes("auto", 4, 8))
    assert not batches({"train_batch_size": 256})
    assert not batches("{ not JSON: train_batch_size")
    assert not batches("[" * 50_000 + "train_batch_size")
    assert not batches(sizes(256, 4, 8), "--deepspeed_config=/etc/other/ds.json")
    assert not batches(sizes(256, 4, 8, tensor_parallel={"autotp_size": 2}))
    assert not batches(
        sizes(256, 4, 8), "--deepspeed_config=/etc/ds/ds.json", "--pipeline-model-parallel-size=2"
    )


def test_batch_sizes_of_torchrun() -> None:
    data = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"ds.json": json.dumps(sizes(256, 4, 8))}}
    data["metadata"] = {"name": "conf", "namespace": "nlp"}
    mounts = [{"name": "conf", "mountPath": "/etc/ds"}]
    volumes = [{"name": "conf", "configMap": {"name": "conf"}}]
    pod = template([], 8, args=["a.py", "--deepspeed=/etc/ds/ds.json"], mounts=mounts, volumes=volumes)
    config = {"enabled": True, "procPerNode": "8", "maxRestarts": 1}
    assert said([data, pytorch(pod, 2, torchrunConfig=config)], "DS010")
    assert not said([data, pytorch(pod, 1, torchrunConfig=config)], "DS010")


# GPUs that are too old.


@pytest.mark.parametrize(
    ("product", "option", "is_reported"),
    [
        ("Tesla-V100-SXM2-32GB", "--tf32=True", True),
        ("Tesla-V100-SXM2-32GB", "--bf16", True),
        ("Tesla-V100-SXM2-32GB", "--attn_implementation=flash_attention_2", True),
        ("Tesla-T4", "--bf16=true", True),
        ("NVIDIA-A100-SXM4-80GB", "--mixed_precision=fp8", True),
        ("NVIDIA-A100-SXM4-80GB", "--bf16", False),
        ("NVIDIA-H100-80GB-HBM3", "--mixed_precision=fp8", False),
        ("NVIDIA-L4", "--mixed_precision=fp8", False),
        ("Tesla-V100-SXM2-32GB", "--fp16", False),
        ("Tesla-V100-SXM2-32GB", "--tf32=False", False),
        ("NVIDIA-RTX-A6000", "--bf16", False),
        ("NVIDIA-A40", "--tf32=1", False),
    ],
)
def test_gpus_that_are_too_old(product: str, option: str, is_reported: bool) -> None:
    selector = {"nvidia.com/gpu.product": product}
    given = pytorch(template(["python", "a.py", option], 1, nodeSelector=selector))
    assert bool(said(given, "RES016")) == is_reported
    term = {"matchExpressions": [{"key": "accelerator", "operator": "In", "values": [product]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    affinity = {"nodeAffinity": required}
    assert (
        bool(said(pytorch(template(["python", "a.py", option], 1, affinity=affinity)), "RES016"))
        == is_reported
    )
    term["matchExpressions"][0]["values"] = [product, "NVIDIA-H200"]
    assert not said(pytorch(template(["python", "a.py", option], 1, affinity=affinity)), "RES016")
    assert not said(pytorch(template(["python", "a.py", option], 1)), "RES016")


# sshd.


@pytest.mark.parametrize(
    ("context", "missing"),
    [
        ({"capabilities": {"drop": ["ALL"]}}, "SYS_CHROOT, SETUID and SETGID"),
        ({"capabilities": {"drop": ["all"], "add": ["SYS_CHROOT"]}}, "SETUID and SETGID"),
        ({"capabilities": {"drop": ["SETUID"]}, "allowPrivilegeEscalation": False}, "SETUID"),
        ({"runAsUser": 0, "capabilities": {"drop": ["ALL"], "add": ["SETUID", "SETGID"]}}, "SYS_CHROOT"),
        ({"capabilities": {"drop": ["ALL"], "add": ["SYS_CHROOT", "SETUID", "SETGID"]}}, ""),
        ({"capabilities": {"drop": ["ALL"], "add": ["ALL"]}}, ""),
        ({"capabilities": {"drop": ["NET_RAW", "MKNOD"]}}, ""),
        ({"runAsUser": 1000, "capabilities": {"drop": ["ALL"]}}, ""),
        ({"privileged": True, "capabilities": {"drop": ["ALL"]}}, ""),
        ({}, ""),
    ],
)
def test_capabilities_of_sshd(context: Data, missing: str) -> None:
    for command in (["/usr/sbin/sshd", "-De"], ["bash", "-c", "mkdir -p /run/sshd; exec /usr/sbin/sshd -D"]):
        (messages,) = [said(generic(replicas("w", 1, template(command, securityContext=context))), "SSH016")]
        assert [message.split(",")[0] for message in messages] == (
            [f"sshd needs {missing}".split(",")[0]] if missing else []
        )
    assert not said(
        generic(replicas("w", 1, template(["python", "a.py"], securityContext=context))), "SSH016"
    )


# What others say of the same jobs.


def test_a_launcher_that_is_started_again_needs_no_wait() -> None:
    host = "$(service.worker[0].host):8"
    launcher = template(["mpirun", "--allow-run-as-root", "-np", "8", "-H", host, "python", "a.py"])
    worker = replicas("worker", 1, template(["/usr/sbin/sshd", "-De"], 8))
    assert said(generic(replicas("launcher", 1, launcher), worker), "GEN004")
    assert said(generic(replicas("launcher", 1, launcher, policy="OnFailure", limit=1), worker), "GEN004")
    assert said(generic(replicas("launcher", 1, launcher, policy="OnFailure"), worker), "GEN004")
    assert not said(generic(replicas("launcher", 1, launcher, policy="OnFailure", limit=5), worker), "GEN004")


def test_places_of_what_a_variable_should_name() -> None:
    pod = template(["python", "a.py", "--port=$(service.port[master])"], 1)
    (found,) = [
        one
        for one in findings({"object": generic(replicas("worker", 1, pod))}, "GEN002")
        if one.rule == "GEN002"
    ]
    assert [place.message for place in found.related] == ["port dist"]
