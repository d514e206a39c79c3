"""Flags of operators in the repository set lowering options, unless something contradicts them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podplan.cli.lsp import resolve_file_settings
from podplan.integrations.lsp.workspace import Workspace
from tests.command import podplan
from tests.git import git_in

OPERATOR = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: kubeflow}
spec:
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec:
      containers:
      - name: operator
        image: IMAGE
        args:
        - FLAG
"""
TRAINING = ("training-operator", "docker.io/kubeflow/training-operator:v1-5525468")
MPI = ("mpi-operator", "docker.io/mpioperator/mpi-operator:0.8.2")
POD = (
    "{spec: {containers: [{name: NAME, image: registry.example.com/train:1,"
    " resources: {limits: {nvidia.com/gpu: 8}}}]}}"
)
PYTORCH_JOB = f"""\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: resnet, namespace: vision}}
spec:
  pytorchReplicaSpecs:
    Master: {{replicas: 1, template: {POD.replace("NAME", "pytorch")}}}
    Worker: {{replicas: 1, template: {POD.replace("NAME", "pytorch")}}}
"""
MPI_JOB = f"""\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {{name: bert, namespace: vision}}
spec:
  mpiReplicaSpecs:
    Launcher: {{replicas: 1, template: {POD.replace("NAME", "mpi")}}}
    Worker: {{replicas: 1, template: {POD.replace("NAME", "mpi")}}}
"""
TRAIN_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llm, namespace: vision}
spec:
  runtimeRef: {name: torch}
  runtimePatches: []
"""


def write_operator(file: str, operator: tuple[str, str], flag: str, name: str = "") -> None:
    image_name, image = operator
    text = OPERATOR.replace("NAME", name or image_name).replace("IMAGE", image).replace("FLAG", flag)
    Path(file).write_text(text)


def lower_kinds(file: str) -> list[tuple[str, str]]:
    """The apiVersion and kind of each object that a job lowers to."""
    shown = podplan("lower", file)
    assert shown.code == 0, shown.err
    lines = shown.out.splitlines()
    heads = (number for number, line in enumerate(lines) if line == "---")
    return [(lines[at + 1].partition(": ")[2], lines[at + 2].partition(": ")[2]) for at in heads]


def list_infos() -> list[tuple[str, int, str]]:
    shown = podplan("check", "--no-cache", "--select", "PROF", "--format", "json", ".")
    findings = [one for one in json.loads(shown.out)["findings"] if one["rule"] == "PROF030"]
    assert all(one["severity"] == "info" for one in findings)
    return [(one["file"], one["line"], one["message"]) for one in findings]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    git_in(tmp_path)("init", "-q")
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(PYTORCH_JOB)
    Path("mpi.yaml").write_text(MPI_JOB)
    return tmp_path


VOLCANO = ("scheduling.volcano.sh/v1beta1", "PodGroup")
PLUGINS = ("scheduling.x-k8s.io/v1alpha1", "PodGroup")


def test_a_flag_is_for_the_kinds_of_its_operator_alone() -> None:
    write_operator("operator.yaml", TRAINING, "--gang-scheduler-name=volcano")
    assert VOLCANO in lower_kinds("job.yaml")
    assert VOLCANO not in lower_kinds("mpi.yaml")
    write_operator("operator.yaml", MPI, "-gang-scheduling=my-scheduler")
    assert PLUGINS in lower_kinds("mpi.yaml")
    assert lower_kinds("job.yaml")
    assert PLUGINS not in lower_kinds("job.yaml")
    assert "schedulerName: my-scheduler" in podplan("lower", "mpi.yaml").out


def test_why_and_inventory_name_the_line_of_the_flag() -> None:
    write_operator("operator.yaml", TRAINING, "--gang-scheduler-name=volcano")
    why = podplan("why", "job.yaml", "pod/resnet-worker-0:spec.schedulerName").out
    assert "[configured] --gang-scheduler-name in operator.yaml:13 is volcano; without that" in why
    facts = podplan("inventory").out
    assert '--gang-scheduler-name=volcano sets [lowering."kubeflow.org"] gang-scheduler' in facts
    assert "(operator.yaml:13)" in facts


@pytest.mark.parametrize("key", ["gang-scheduler", '"kubeflow.org".gang-scheduler'])
def test_the_configuration_wins(key: str) -> None:
    write_operator("operator.yaml", TRAINING, "--gang-scheduler-name=volcano")
    Path("podplan.toml").write_text(f'[lowering]\n{key} = "none"\n')
    assert VOLCANO not in lower_kinds("job.yaml")
    [(file, line, message)] = list_infos()
    assert (file, line) == ("operator.yaml", 13)
    assert "podplan.toml:2 sets gang-scheduler to none" in message
    Path("podplan.toml").write_text(f'[lowering]\n{key} = "volcano"\n')
    assert list_infos() == []


def test_operators_that_disagree_set_nothing() -> None:
    write_operator("a.yaml", TRAINING, "--gang-scheduler-name=volcano")
    write_operator("b.yaml", TRAINING, "--leader-elect", name="staging")
    assert VOLCANO not in lower_kinds("job.yaml")
    [(file, line, message)] = list_infos()
    assert (file, line) == ("a.yaml", 13)
    assert "the Deployment staging in b.yaml:10 states a different value" in message
    write_operator("b.yaml", TRAINING, "--gang-scheduler-name=volcano", name="staging")
    assert list_infos() == []
    assert VOLCANO in lower_kinds("job.yaml")


def test_what_kustomize_or_a_shell_changes_is_not_applied() -> None:
    write_operator("operator.yaml", TRAINING, "--gang-scheduler-name=volcano")
    patch = "resources: [operator.yaml]\npatches:\n- {target: {name: training-operator}, patch: '[]'}\n"
    Path("kustomization.yaml").write_text(f"kind: Kustomization\n{patch}")
    assert VOLCANO not in lower_kinds("job.yaml")
    assert "not applied: kustomization.yaml changes the Deployment" in podplan("inventory").out
    Path("kustomization.yaml").unlink()
    for flag in ("--gang-scheduler-name=$(SCHEDULER)", "--pytorch-init-container-max-tries=many"):
        write_operator("operator.yaml", TRAINING, flag)
        assert VOLCANO not in lower_kinds("job.yaml")


def test_the_tag_of_an_image_states_the_version_of_the_operator() -> None:
    trainer = "trainer-controller-manager", "ghcr.io/kubeflow/trainer/trainer-controller-manager:v2.1.0"
    Path("train.yaml").write_text(TRAIN_JOB)
    findings = [podplan("check", "--no-cache", "--isolated", "train.yaml").out]
    write_operator("operator.yaml", trainer, "--zap-log-level=2")
    findings.append(podplan("check", "--no-cache", "--isolated", "train.yaml").out)
    assert ["runtimePatches" in one for one in findings] == [False, True]


@pytest.mark.long
def test_cache_and_changes_know_the_dependency(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODPLAN_CACHE_DIR", str(folder.parent / "cache"))
    for number in range(12):  # fewer are not cached
        Path(f"job-{number}.yaml").write_text(PYTORCH_JOB.replace("resnet", f"resnet-{number}"))
    write_operator("operator.yaml", TRAINING, "--gang-scheduler-name=volcano")
    git = git_in(folder)
    git("add", "-A")
    git("commit", "-qm", "jobs")
    lowered = [podplan("check", "--format", "json", ".").out for _ in range(2)]
    assert lowered[0] == lowered[1]
    write_operator("operator.yaml", TRAINING, "--leader-elect")
    lowered.append(podplan("check", "--format", "json", ".").out)
    counts = [json.loads(one)["summary"]["lowered"] for one in lowered]
    assert counts[1] - counts[2] == 13  # a PodGroup of each PyTorchJob
    changed = podplan("check", "--no-cache", "--affected-by", "operator.yaml", "--format", "json")
    every = podplan("check", "--no-cache", "--format", "json", ".")
    assert len(json.loads(changed.out)["findings"]) == len(json.loads(every.out)["findings"]) > 0
    assert "- PodGroup {job}" in podplan("diff", "--base", "HEAD").out


def test_an_editor_uses_the_unsaved_flag(folder: Path) -> None:
    write_operator("operator.yaml", TRAINING, "--leader-elect")
    workspace = Workspace(resolve_file_settings)
    job, operator = ((folder / name).as_uri() for name in ("job.yaml", "operator.yaml"))
    opened = workspace.documents.put(job, 1, PYTORCH_JOB)
    assert opened is not None
    counts = []
    for flag in ("--leader-elect", "--gang-scheduler-name=volcano"):
        write_operator("unsaved.txt", TRAINING, flag)
        workspace.documents.put(operator, 2, Path("unsaved.txt").read_text())
        [plan] = workspace.iter_plans(opened)
        counts.append(sum(one.doc.data["kind"] == "PodGroup" for one in plan.replica_groups))
    assert counts == [0, 1]
