"""What audits found podplan to report without cause, and what it has to report all the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

import tests.command
from podplan.checker import pool
from tests.command import podplan
from tests.git import commit, git_in
from tests.job_variants import Job, changed, pytorch


def reported(folder: Path, *flags: str) -> list[tuple[str, str, int]]:
    """The findings of a folder, as rule, file and line."""
    said = podplan("check", "--format", "json", *flags, ".", cwd=folder)
    assert said.code in (0, 1), said.err
    return [(one["rule"], one["file"], one["line"]) for one in json.loads(said.out)["findings"]]


# --- IPC_LOCK beside an RDMA device


def rdma(*capabilities: str, device: bool = True) -> Job:
    """Two Pods as root with an RDMA device, and such capabilities."""
    one: dict[str, Any] = {"securityContext": {"capabilities": {"add": list(capabilities)}}}
    if device:
        one["resources"] = {"limits": {"rdma/hca": 1}}
    spec = {"replicaSpecs": {"0": {"template": {"spec": {"containers": {"0": one}}}}}}
    return changed(pytorch("python", "train.py", gpus=1), {"spec": spec})


INVENTORY = """\
apiVersion: podplan/v1
kind: ClusterInventory
metadata: {{name: a}}
spec: {{namespaces: {{{namespace}: {{podSecurity: {level}}}}}}}
"""


@pytest.mark.parametrize(
    ("capabilities", "device", "config", "level", "rules"),
    [
        (["IPC_LOCK"], True, "", "", set()),
        ([], True, "", "", {"NET003"}),
        (["IPC_LOCK"], True, "", "privileged", set()),
        (["IPC_LOCK"], True, "", "baseline", {"SEC003"}),
        (["IPC_LOCK"], True, "", "restricted", {"SEC003"}),
        (["IPC_LOCK"], True, 'pss = "baseline"', "", {"SEC003"}),
        (["IPC_LOCK"], True, 'pss = "restricted@1.33"', "", {"SEC003"}),
        ([], True, 'pss = "baseline"', "", {"NET003"}),
        (["IPC_LOCK"], False, "", "", {"SEC003"}),
        (["IPC_LOCK", "SYS_ADMIN"], True, "", "", {"SEC003"}),
    ],
)
def test_ipc_lock_beside_rdma_has_one_answer(
    tmp_path: Path, capabilities: list[str], device: bool, config: str, level: str, rules: set[str]
) -> None:
    job = rdma(*capabilities, device=device)
    (tmp_path / ".git").mkdir()
    (tmp_path / "job.yaml").write_text(json.dumps(job))
    (tmp_path / "podplan.toml").write_text(f"{config}\n")
    if level:
        namespace = job["metadata"]["namespace"]
        (tmp_path / "inventory.yaml").write_text(INVENTORY.format(namespace=namespace, level=level))
    found = reported(tmp_path)
    assert {rule for rule, _, _ in found if rule in ("SEC003", "NET003")} == rules
    assert len([rule for rule, _, _ in found if rule == "SEC003"]) <= 1, "SYS_ADMIN alone"


# --- what Pod Security forbids and clusters without it need


def on_the_node(*, device: bool = True, path: str = "/mnt/nvme/data", read_only: bool = True) -> Job:
    """Two Pods in the network of their nodes, with a folder of them."""
    container: dict[str, Any] = {
        "ports": [{"name": "metrics", "containerPort": 9400}],
        "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": read_only}],
    }
    if device:
        container["resources"] = {"limits": {"rdma/hca": 1}}
    pod = {
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "containers": {"0": container},
        "volumes": [{"name": "data", "hostPath": {"path": path}}],
    }
    spec = {"replicaSpecs": {"0": {"template": {"spec": pod}}}}
    return changed(pytorch("python", "train.py", gpus=1), {"spec": spec})


@pytest.mark.parametrize(
    ("job", "config", "level", "rules"),
    [
        (on_the_node(), "", "", set()),
        (on_the_node(), "", "privileged", set()),
        (on_the_node(), "", "baseline", {"SEC001", "SEC004", "SEC005"}),
        (on_the_node(), 'pss = "restricted"', "", {"SEC001", "SEC004", "SEC005"}),
        (on_the_node(device=False), "", "", {"SEC001", "SEC005"}),
        (on_the_node(read_only=False), "", "", {"SEC004"}),
        (on_the_node(path="/var/run/docker.sock"), "", "", {"SEC004"}),
        (on_the_node(path="/mnt/../etc"), "", "", {"SEC004"}),
        (on_the_node(path="/dev/kfd"), "", "", {"SEC004"}),
        (on_the_node(path="/"), "", "", {"SEC004"}),
        (on_the_node(path="/data"), "", "", set()),
        (on_the_node(path="/data/imagenet/"), "", "", set()),
    ],
)
def test_nodes_are_used_where_nothing_refuses_it(
    tmp_path: Path, job: Job, config: str, level: str, rules: set[str]
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "job.yaml").write_text(json.dumps(job))
    (tmp_path / "podplan.toml").write_text(f"{config}\n")
    if level:
        namespace = job["metadata"]["namespace"]
        (tmp_path / "inventory.yaml").write_text(INVENTORY.format(namespace=namespace, level=level))
    found = {rule for rule, _, _ in reported(tmp_path)}
    assert found & {"SEC001", "SEC004", "SEC005"} == rules


# --- variables that the line of mpirun replaces

MPI = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata: {name: train}
spec:
  replicaSpecs:
  - type: worker
    template:
      spec:
        containers:
        - {name: worker, image: 'a:1', command: COMMAND, env: ENV}
"""
HOSTS = "{name: HOSTS, value: 'a:1,b:1'}"


@pytest.mark.parametrize(
    ("command", "env", "is_found"),
    [
        ("[mpirun, --mca, a, b, -H, $(HOSTS), python, train.py]", f"[{HOSTS}]", False),
        ("[bash, -c, 'mpirun --mca a b -H ${HOSTS} python train.py']", f"[{HOSTS}]", False),
        ("[bash, -c, 'mpirun --mca a b -H $HOSTS python train.py']", f"[{HOSTS}]", False),
        (
            "[mpirun, --mca, a, b, -H, $(ALL), python, train.py]",
            f"[{HOSTS}, {{name: ALL, value: '$(HOSTS),c:1'}}]",
            False,
        ),
        ("[mpirun, --mca, a, b, -H, 'a:1,b:1', python, train.py]", f"[{HOSTS}]", True),
        (
            "[mpirun, --mca, a, b, -H, $(HOSTS), python, train.py]",
            f"[{HOSTS}, {{name: LR, value: '1'}}]",
            True,
        ),
        (
            "[mpirun, --mca, btl_tcp_if_include, $(NCCL_SOCKET_IFNAME), -H, 'a:1,b:1', python, train.py]",
            "[{name: NCCL_SOCKET_IFNAME, value: eth0}]",
            True,
        ),
    ],
)
def test_a_variable_that_only_the_line_of_mpirun_reads_need_not_reach_the_hosts(
    tmp_path: Path, command: str, env: str, is_found: bool
) -> None:
    (tmp_path / "job.yaml").write_text(MPI.replace("COMMAND", command).replace("ENV", env))
    assert ("SSH010" in {rule for rule, _, _ in reported(tmp_path)}) is is_found


# --- numbers with an exponent where a param is a number

NUMBERS = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: a}
spec:
  extends: [base.yaml]
  job: PyTorchTrainingJob
  image: a:1
  run: [a.py, "${{ params.lr }}", "${{ params.decay }}", "${{ params.all }}", "${{ params.steps }}"]
  params:
    lr: {type: number, default: 3e-4, minimum: 1e-6, enum: [3e-4, 1e-3]}
    all: {type: array, items: {type: [number, 'null'], maximum: 1e3}, default: [3e-4]}
    steps: {type: integer, default: 1_000}
  matrix: {axes: {lr: [1e-3, 3e-4]}, include: [{lr: 3e-4, decay: 1e-2}]}
  environments:
    prod: {values: {decay: 1e-2, all: [1e-2]}}
"""
BASE = (
    "apiVersion: podplan/v1\nkind: JobProfileBase\nspec: {params: {decay: {type: number, default: 1e-2}}}\n"
)


def test_a_number_with_an_exponent_is_meant_where_a_number_is_declared(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(NUMBERS)
    (tmp_path / "base.yaml").write_text(BASE)
    assert [one for one in reported(tmp_path) if one[0] == "YAML010"] == []


@pytest.mark.parametrize(
    "line",
    [
        "  params: {lr: {type: string, default: 3e-4}}",
        "  params: {lr: {type: [number, string], default: 3e-4}}",
        "  params: {lr: {default: 3e-4}}",
        "  params: {lr: {type: integer, default: 010}}",
        "  params: {lr: {type: integer, default: 0_17}}",
        "  params: {lr: {type: number, default: 1}}\n  env: {LR: 3e-4}",
    ],
)
def test_a_number_is_not_meant_where_none_is_declared(tmp_path: Path, line: str) -> None:
    text = NUMBERS.partition("  params:")[0].replace("  extends: [base.yaml]\n", "")
    (tmp_path / "a.yaml").write_text(f"{text}{line}\n")
    assert [rule for rule, _, _ in reported(tmp_path) if rule == "YAML010"] == ["YAML010"]


# --- repositories in one another

JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata: {name: train, namespace: nlp}
spec:
  replicaSpecs:
  - type: worker
    template: {spec: {containers: [{name: worker, image: 'a:1'}]}}
"""


def test_the_jobs_of_a_worktree_and_of_a_submodule_are_no_duplicates(tmp_path: Path) -> None:
    git = git_in(tmp_path)
    git("init", "-q", "-b", "main")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "a.yaml").write_text(JOB)
    commit(git, "first")
    git("worktree", "add", "-q", "trees/other", "-b", "other")
    module = tmp_path / "modules" / "shared"
    module.mkdir(parents=True)
    git_in(module)("init", "-q", "-b", "main")
    (module / "a.yaml").write_text(JOB)
    named = (".", "trees/other", "modules/shared")  # they are searched if they are named
    assert {file for _, file, _ in reported(tmp_path)} == {"jobs/a.yaml"}
    assert {file for _, file, _ in reported(tmp_path, *named)} == {
        "jobs/a.yaml",
        "trees/other/jobs/a.yaml",
        "modules/shared/a.yaml",
    }
    assert [one for one in reported(tmp_path, *named) if one[0].startswith("NAME")] == []
    (tmp_path / "jobs" / "b.yaml").write_text(JOB)
    (tmp_path / "trees" / "other" / "jobs" / "c.yaml").write_text(JOB)
    found = [one for one in reported(tmp_path, *named) if one[0] == "NAME002"]
    assert found == [("NAME002", "jobs/b.yaml", 3), ("NAME002", "trees/other/jobs/c.yaml", 3)]


def test_without_git_the_jobs_of_all_folders_are_compared(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "job.yaml").write_text(JOB)
    assert [one for one in reported(tmp_path) if one[0] == "NAME002"] == [("NAME002", "b/job.yaml", 3)]


def test_the_same_file_in_the_trees_of_two_clusters_is_no_duplicate(tmp_path: Path) -> None:
    for folder in ("eks/jobs/bert", "gke/jobs/bert", "gke/jobs/gpt"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "job.yaml").write_text(JOB)
    found = [one for one in reported(tmp_path) if one[0].startswith("NAME")]
    assert found == [("NAME002", "gke/jobs/gpt/job.yaml", 3)]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("command -v mpirun || echo none\npython train.py", "DIST012"),
        ("python train.py\npython -c 'import torch; print(torch.__version__)' || true", "LIFE017"),
        ("python3 -c 'import horovod' || true\nexec /usr/sbin/sshd -D", "LIFE017"),
    ],
)
def test_commands_that_inspect_the_image_are_no_training(tmp_path: Path, line: str, rule: str) -> None:
    job = yaml.safe_load(tests.command.JOB)
    container = job["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    container |= {"command": ["bash", "-c"], "args": [line]}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    assert [one for one in reported(tmp_path) if one[0] == rule] == []


@pytest.mark.long
def test_many_files_in_workers_say_the_same_of_repositories_in_one_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "MIN_FILES_FOR_WORKERS", 40)
    (tmp_path / ".git").mkdir()
    nested = tmp_path / "nested"
    (nested / ".git").mkdir(parents=True)
    for number in range(40):
        (tmp_path / f"{number:03}.yaml").write_text(JOB.replace("train", f"train-{number}"))
        shutil.copy(tmp_path / f"{number:03}.yaml", nested)
    (nested / "last.yaml").write_text(JOB.replace("train", "train-7"))
    alone, shared = (
        [one for one in reported(tmp_path, "-j", jobs, ".", "nested") if one[0] == "NAME002"] for jobs in "14"
    )
    assert alone == shared == [("NAME002", "nested/last.yaml", 3)]


# --- a torchrun in the command that restarts its processes

OPERATOR_JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: el}}
spec:
  runPolicy: {{backoffLimit: 3}}
  {policy}
  pytorchReplicaSpecs:
    Worker:
      replicas: 4
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - {{name: pytorch, image: "train:1", command: {command}}}
"""
ELASTIC = "elasticPolicy: {{minReplicas: 2, maxReplicas: 4{}, rdzvBackend: c10d}}"


@pytest.mark.parametrize(
    ("policy", "command", "is_reported"),
    [
        ("", "[python, t.py]", True),
        ("", "[torchrun, t.py]", True),
        ("", "[torchrun, --max_restarts=0, t.py]", True),
        ("", "[torchrun, --max_restarts=10, t.py]", False),
        ("", "[torchrun, --rdzv_backend=c10d, --max_restarts=3, t.py]", False),
        ("", "[python, -m, torch.distributed.run, --max-restarts, '3', t.py]", False),
        ("", "[sh, -c, 'torchrun --max-restarts=$N t.py']", False),
        (ELASTIC.format(", maxRestarts: 10"), "[torchrun, t.py]", False),
        (ELASTIC.format(", maxRestarts: 10"), "[python, t.py]", True),
        (ELASTIC.format(""), "[torchrun, t.py]", True),
    ],
)
def test_torchrun_that_restarts_its_processes_uses_no_retry(
    tmp_path: Path, policy: str, command: str, is_reported: bool
) -> None:
    (tmp_path / "job.yaml").write_text(OPERATOR_JOB.format(policy=policy, command=command))
    found = {rule for rule, _, _ in reported(tmp_path)}
    assert ("LIFE001" in found) == is_reported
    assert not any(rule.startswith("SCHEMA") for rule in found)


def test_the_fields_of_a_version_that_is_gone_are_not_judged(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(
        "apiVersion: kubeflow.org/v1alpha1\nkind: MPIJob\nmetadata: {name: a}\nspec: {gpus: 16}\n"
    )
    assert reported(tmp_path) == [("SCHEMA010", "job.yaml", 1)]
