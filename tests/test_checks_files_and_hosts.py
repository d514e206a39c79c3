"""Files and volumes of Pods, hosts of other jobs, counts of jax and paddle, servers left by a training."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.golden_cases import podplan
from tests.rows import each_row
from tests.test_checks_counts_and_devices import run_by_python, said
from tests.test_checks_plans import pytorch, template

Data = dict[str, Any]


def kubeflow(kind: str, types: dict[str, Data], name: str = "train", **spec: Any) -> Data:
    """A job of the training operator: of each replica type the number of replicas and its container."""
    field, container = {
        "PyTorchJob": ("pytorchReplicaSpecs", "pytorch"),
        "TFJob": ("tfReplicaSpecs", "tensorflow"),
        "JAXJob": ("jaxReplicaSpecs", "jax"),
        "PaddleJob": ("paddleReplicaSpecs", "paddle"),
        "XGBoostJob": ("xgbReplicaSpecs", "xgboost"),
    }[kind]
    specs = {}
    for type_, given in types.items():
        more = {key: value for key, value in given.items() if key != "replicas"}
        pod = {"containers": [{"name": container, "image": "registry.example.com/train:7", **more}]}
        specs[type_] = {"replicas": given.get("replicas", 1), "template": {"spec": pod}}
    metadata = {"name": name, "namespace": "nlp"}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": {**spec, field: specs},
    }


def workers(kind: str, command: list[str], replicas: int = 2, **more: Any) -> Data:
    return kubeflow(kind, {"Worker": {"replicas": replicas, "command": command}}, **more)


HOSTS = [
    ("JAXJob", "t5-large", ["--coordinator_address=t5-worker-0:6666"], True),
    ("JAXJob", "t5-large", ["--coordinator-address", "t5-worker-0.nlp.svc:6666"], True),
    ("JAXJob", "t5-large", ["--coordinator_address=t5-large-worker-0:6666"], False),
    ("JAXJob", "t5-large", ["--tokenizer_host=t5-worker-0:6666"], False),
    ("TFJob", "resnet-v2", ["--worker_hosts=resnet-worker-0:2222,resnet-worker-1:2222"], True),
    ("TFJob", "resnet-v2", ["--worker_hosts=resnet-v2-worker-0:2222,resnet-v2-worker-1:2222"], False),
    ("TFJob", "resnet-v2", ["--worker_hosts=$(WORKER_HOSTS)"], False),
    ("TFJob", "resnet-v2", ["--ps_hosts=cache.storage:2222"], False),
]


@each_row(("kind", "name", "arguments", "is_reported"), HOSTS)
def test_hosts_of_other_jobs(kind: str, name: str, arguments: list[str], is_reported: bool) -> None:
    given = workers(kind, ["python", "train.py", *arguments], name=name)
    assert bool(said(given, "DIST004")) == is_reported


def test_hosts_of_other_jobs_in_variables() -> None:
    def run(host: str) -> Data:
        env = [{"name": "JAX_COORDINATOR_ADDRESS", "value": host}]
        return kubeflow("JAXJob", {"Worker": {"replicas": 2, "command": ["python", "train.py"], "env": env}})

    assert said(run("other-worker-0"), "DIST004")
    assert not said(run("train-worker-0"), "DIST004")


def elastic(host: str) -> Data:
    policy = {"rdzvBackend": "c10d", "rdzvHost": host, "rdzvPort": 29400, "minReplicas": 1, "maxReplicas": 3}
    return workers("PyTorchJob", ["torchrun", "train.py"], elasticPolicy=policy)


def test_hosts_of_a_replica_type_that_is_not_there() -> None:
    assert said(elastic("train-master-0"), "DIST010") == [
        "train-master-0 does not resolve: master has no replicas"
    ]
    assert not said(elastic("train-worker-0"), "DIST010")
    assert not said(elastic("store.nlp.svc"), "DIST010")


JAX = ["--coordinator_address=$(COORDINATOR_ADDRESS)", "--process_id=$(PROCESS_ID)"]
PADDLE = ["-m", "paddle.distributed.launch", "--master=$(PADDLE_MASTER)"]
COUNTS = [
    ("JAXJob", ["-m", "train", *JAX, "--num_processes=2"], True),
    ("JAXJob", ["-m", "train", *JAX, "--process_count", "8"], True),
    ("JAXJob", ["-m", "train", *JAX, "--num_processes=4"], False),
    ("JAXJob", ["-m", "train", *JAX, "--num_processes=$(NUM_PROCESSES)"], False),
    ("JAXJob", ["preprocess.py", "--num_processes=16", "--process_id=$(PROCESS_ID)"], False),
    ("PaddleJob", [*PADDLE, "--nnodes=2", "train.py"], True),
    ("PaddleJob", [*PADDLE, "--nnodes", "8", "train.py"], True),
    ("PaddleJob", [*PADDLE, "--nnodes=4", "train.py"], False),
    ("PaddleJob", [*PADDLE, "--nnodes=2:4", "train.py"], False),
]


@each_row(("kind", "arguments", "is_reported"), COUNTS)
def test_counts_of_jax_and_paddle(kind: str, arguments: list[str], is_reported: bool) -> None:
    assert bool(said(workers(kind, ["python", *arguments], 4), "DIST021")) == is_reported


MASTERS = [
    (2, [*PADDLE[:2], "--master", "127.0.0.1:36543", "train.py"], True),
    (2, ["-m", "train", "--coordinator_address=localhost:1234"], True),
    (1, [*PADDLE[:2], "--master", "127.0.0.1:36543", "train.py"], False),
    (2, [*PADDLE, "train.py"], False),
    (2, ["train.py", "--master=127.0.0.1:36543"], False),
]


@each_row(("pods", "arguments", "is_reported"), MASTERS)
def test_masters_on_loopback(pods: int, arguments: list[str], is_reported: bool) -> None:
    assert bool(said(workers("PaddleJob", ["python", *arguments], pods), "DIST023")) == is_reported


FRACTIONS = [
    ("90", True),
    ("90%", True),
    ("10", True),
    ("0.90", False),
    (".5", False),
    ("1", False),
    ("4.0", False),
]


@each_row(("value", "is_reported"), FRACTIONS)
def test_memory_fractions(value: str, is_reported: bool) -> None:
    env = [{"name": "XLA_PYTHON_CLIENT_MEM_FRACTION", "value": value}]
    given = kubeflow("JAXJob", {"Worker": {"command": ["python", "train.py"], "env": env}})
    assert bool(said(given, "CR018")) == is_reported


@each_row(("threads", "is_reported"), [("64", True), ("8", True), ("4", False), ("6", False)])
def test_threads_of_the_program_of_the_image(threads: str, is_reported: bool) -> None:
    env = [{"name": "OMP_NUM_THREADS", "value": threads}]
    given = {"args": ["--job_type=Train"], "env": env, "resources": {"limits": {"cpu": 4}}}
    assert bool(said(kubeflow("XGBoostJob", {"Master": given}), "RES015")) == is_reported


@each_row(("port", "pods", "is_reported"), [(23456, 4, True), (8080, 4, False), (23456, 1, False)])
def test_probes_of_the_port_of_rank_0(port: int, pods: int, is_reported: bool) -> None:
    given = run_by_python(["train.py", "--port=8080"], pods=pods)
    (container,) = given["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"]
    container["livenessProbe"] = {"tcpSocket": {"port": port}}
    assert bool(said(given, "NET014")) == is_reported


TENSORBOARD = "tensorboard --logdir /out"
SCRIPTS = [
    (f"python train.py &\n{TENSORBOARD}", True),
    ("torchrun train.py --out /out & tail -F /out/log", True),
    (f"{TENSORBOARD} &\npython train.py", False),
    (f"python train.py & PID=$!\n{TENSORBOARD} &\nwait $PID", False),
    ("python train.py & tail --pid=$! -F /out/log", False),
    (f"(python train.py; pkill tensorboard) & {TENSORBOARD}", False),
    (f"python train.py && kill 1 & {TENSORBOARD}", False),
    (f"python serve_metrics.py & {TENSORBOARD}", False),
    ("./warm.sh & jupyter lab", False),
]


@each_row(("script", "is_reported"), SCRIPTS)
def test_servers_in_front_of_a_training(script: str, is_reported: bool) -> None:
    assert bool(said(pytorch(template(["sh", "-c", script], 1), 1), "LIFE021")) == is_reported


def parameter_servers(policy: str | None, types: tuple[str, ...] = ("Chief", "PS", "Worker")) -> Data:
    run_policy = {"cleanPodPolicy": policy} if policy else {}
    given = {type_: {"replicas": 1, "command": ["python", "ctr.py"]} for type_ in types}
    return kubeflow("TFJob", given, runPolicy=run_policy)


def test_parameter_servers_that_are_left() -> None:
    assert said(parameter_servers("None"), "LIFE031")
    assert said(parameter_servers(None), "LIFE031")  # the default
    assert not said(parameter_servers("Running"), "LIFE031")
    assert not said(parameter_servers("All"), "LIFE031")
    assert not said(parameter_servers("None", ("Chief", "Worker")), "LIFE031")


@each_row(
    ("command", "is_reported"),
    [
        (["python", "python", "train.py"], True),
        (["python3", "bash", "run.sh"], True),
        (["python", "run.sh"], True),
        (["python", "-u", "train.py"], False),
        (["python", "-m", "torchrun"], False),
        (["python", "/opt/conda/bin/torchrun", "train.py"], False),
        (["python", "main"], False),
    ],
)
def test_words_that_python_cannot_run(command: list[str], is_reported: bool) -> None:
    assert bool(said(pytorch(template(command, 1), 1), "DIST013")) == is_reported


@pytest.mark.parametrize("label", ["cron", "CronWorkflow", "nightly", "argo-cron"])
def test_debug_mode_that_a_schedule_starts(label: str) -> None:
    given = pytorch(template(["python", "train.py"], 8), 2, runMode={"debug": {"enabled": True}})
    assert not said(given, "LIFE032")
    given["metadata"]["labels"] = {"trigger": "manual"}
    assert not said(given, "LIFE032")
    given["metadata"]["labels"] = {"trigger": label}
    assert said(given, "LIFE032")


def mounting(command: list[str], source: Data, **mount: Any) -> Data:
    """A job that mounts one volume at /etc/ds, unless another mount is given."""
    made = template(command, 1, mounts=[{"name": "files", "mountPath": "/etc/ds", **mount}])
    made["spec"]["volumes"] += [{"name": "files", **source}]
    return pytorch(made, 1)


CONFIG: Data = {"configMap": {"name": "config"}}
STARTED = [
    (["/etc/ds/run.sh"], CONFIG, True),
    (["nice", "-n", "5", "/etc/ds/run.sh"], CONFIG, True),
    (["sh", "-c", "cd /tmp && /etc/ds/run.sh"], CONFIG, True),
    (["/etc/ds/run.sh"], {"secret": {"secretName": "config"}}, True),
    (["/etc/ds/run.sh"], {"configMap": {"name": "config", "defaultMode": 0o555}}, False),
    (["bash", "/etc/ds/run.sh"], CONFIG, False),
    (["sh", "-c", ". /etc/ds/run.sh"], CONFIG, False),
    (["sh", "-c", "cp /etc/ds/run.sh /tmp && chmod +x /tmp/run.sh && /tmp/run.sh"], CONFIG, False),
    (["/etc/ds/run.sh"], {"persistentVolumeClaim": {"claimName": "code"}}, False),
    (["python", "train.py", "--hook=/etc/ds/run.sh"], CONFIG, False),
]


@each_row(("command", "source", "is_reported"), STARTED)
def test_files_that_cannot_be_started(command: list[str], source: Data, is_reported: bool) -> None:
    assert bool(said(mounting(command, source), "VOL044")) == is_reported


LISTED: Data = {"configMap": {"name": "config", "items": [{"key": "a.json", "path": "conf/zero3.json"}]}}
NAMED = [
    ("--deepspeed=/etc/ds/a.json", LISTED, True),
    ("--deepspeed=/etc/ds/conf/zero2.json", LISTED, True),
    ("--deepspeed=/etc/ds/conf/zero3.json", LISTED, False),
    ("--conf=/etc/ds/conf", LISTED, False),
    ("--conf=/etc/ds/*.json", LISTED, False),
    ("--conf=/etc/ds/zero$(STAGE).json", LISTED, False),
    ("--url=http://host/etc/ds/a.json", LISTED, False),
    ("--deepspeed=/etc/ds/a.json", CONFIG, False),
]


@each_row(("option", "source", "is_reported"), NAMED)
def test_files_that_a_volume_lacks(option: str, source: Data, is_reported: bool) -> None:
    assert bool(said(mounting(["python", "train.py", option], source), "VOL045")) == is_reported


def test_volumes_that_nothing_mounts() -> None:
    made = template(["python", "train.py", "--data=/data/coco"], 1)
    made["spec"]["volumes"] += [{"name": "coco", "persistentVolumeClaim": {"claimName": "coco"}}]
    assert said(pytorch(made, 1), "VOL046")
    made["metadata"] = {"annotations": {"sidecar.istio.io/userVolumeMount": '[{"name":"coco"}]'}}
    assert not said(pytorch(made, 1), "VOL046")
    made["spec"]["volumes"][-1] = {"name": "tmp", "emptyDir": {}}
    assert not said(pytorch(made, 1), "VOL046")


@each_row(
    ("key", "is_reported"),
    [
        ("sidecar.istio.io/inject", True),
        ("k8s.v1.cni.cncf.io/networks", True),
        ("cluster-autoscaler.kubernetes.io/safe-to-evict", True),
        ("kueue.x-k8s.io/queue-name", False),
        ("argocd.argoproj.io/sync-wave", False),
    ],
)
def test_annotations_for_pods_on_the_job(key: str, is_reported: bool) -> None:
    given = workers("JAXJob", ["python", "train.py"])
    given["metadata"]["annotations"] = {key: "false"}
    assert bool(said(given, "NET036")) == is_reported
    pod = given["spec"]["jaxReplicaSpecs"]["Worker"]["template"]
    pod["metadata"] = {"annotations": {key: "false"}}
    assert not said(given, "NET036")


@each_row(("gang", "is_reported"), [(3, True), (2, False), (1, False), (None, False)])
def test_gangs_of_more_pods_than_there_are(gang: int | None, is_reported: bool) -> None:
    policy = {"schedulingPolicy": {"minAvailable": gang, "queue": "research"}}
    assert bool(said(workers("JAXJob", ["python", "train.py"], runPolicy=policy), "SCHED039")) == is_reported


@each_row(
    ("variable", "is_reported"),
    [
        ("CORPUS_RELEASE: 3.10", True),
        ("CUDA_VERSION: 12.0", True),
        ("python_version: 3.10", True),
        ('CORPUS_RELEASE: "3.10"', False),
        ("CORPUS_RELEASE: 3.11", False),
        ("DROPOUT: 0.10", False),
    ],
)
def test_versions_that_are_numbers(variable: str, is_reported: bool) -> None:
    lines = [
        "apiVersion: podplan/v1",
        "kind: JobProfile",
        "metadata: {name: clean}",
        "spec:",
        "  job: GenericJob",
    ]
    lines += [
        "  image: registry.example.com/clean:9",
        "  run: [clean.py]",
        "  replicas: 1",
        "  env:",
        f"    {variable}",
    ]
    with TemporaryDirectory() as folder, chdir(folder):
        Path("clean.yaml").write_text("\n".join(lines) + "\n", "utf-8")
        found = json.loads(podplan("check", "--isolated", "--no-cache", "--format", "json", "clean.yaml").out)
    assert any(one["rule"] == "YAML010" for one in found["findings"]) == is_reported
