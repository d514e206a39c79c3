"""Files of several jobs: those with errors are named, all others are in the output; --job selects one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.command import JOB, Run, podplan

RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: "r.example.com/t:1"}]}}}
"""
TRAIN_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME}
spec:
  runtimeRef: {name: RUNTIME}
  trainer: {numNodes: 2}
"""
PYTORCH_JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: NAME}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: REPLICAS
      template: {spec: {containers: [{name: pytorch, image: "r.example.com/t:1"}]}}
"""


def train_job(name: str, runtime: str = "torch") -> str:
    return TRAIN_JOB.replace("NAME", name).replace("RUNTIME", runtime)


def pytorch_job(name: str, replicas: int = 1) -> str:
    return PYTORCH_JOB.replace("NAME", name).replace("REPLICAS", str(replicas))


@pytest.fixture
def top(tmp_path: Path) -> Path:
    documents = [RUNTIME, train_job("one"), train_job("two", "nowhere"), pytorch_job("three")]
    (tmp_path / "jobs.yaml").write_text(
        "---\n".join([*documents, pytorch_job("four", -3), pytorch_job("five")])
    )
    return tmp_path


FAILED = "because of the findings above: TrainJob/two of jobs.yaml, PyTorchJob/four of jobs.yaml\n"


JOB_FILES = ["five.yaml", "one.yaml", "three.yaml"]


def list_jobs(run: Run) -> set[str]:
    documents = [one["metadata"] for one in yaml.safe_load_all(run.out)]
    names = {(one.get("name") or one["generateName"]).partition("-")[0] for one in documents}
    return names & {"one", "two", "three", "four", "five"}


def test_the_other_jobs_are_lowered(top: Path) -> None:
    run = podplan("lower", "jobs.yaml", cwd=top)
    assert run.code == 1
    assert list_jobs(run) == {"one", "three", "five"}
    assert run.err.endswith(f"podplan: not lowered, {FAILED}")
    assert "nowhere" in run.err
    assert "SCHEMA005" in run.err


def test_the_other_jobs_are_written_into_a_folder(top: Path) -> None:
    run = podplan("lower", "jobs.yaml", "-o", "out", cwd=top)
    assert (run.code, run.out) == (1, "")
    assert sorted(path.name for path in (top / "out").iterdir()) == JOB_FILES


def test_a_suppressed_error_fails_no_job(top: Path) -> None:
    (top / "jobs.yaml").write_text(
        pytorch_job("four", -3).replace("replicas: -3", "replicas: -3 # podplan: ignore[SCHEMA005] a test")
    )
    whole = podplan("check", "--isolated", "jobs.yaml", cwd=top)
    assert podplan("lower", "jobs.yaml", cwd=top).code == whole.code


def test_nothing_is_printed_when_all_jobs_fail(top: Path) -> None:
    (top / "jobs.yaml").write_text(pytorch_job("four", -3))
    run = podplan("lower", "jobs.yaml", cwd=top)
    assert (run.code, run.out) == (1, "")


@pytest.mark.parametrize("command", [("why", "jobs.yaml", "WORLD_SIZE"), ("graph", "jobs.yaml")])
def test_other_commands_pass_over_a_job_that_is_not_lowered(top: Path, command: tuple[str, ...]) -> None:
    run = podplan(*command, cwd=top)
    assert run.code == 1
    assert "three" in run.out
    assert "TrainJob/two of jobs.yaml" in run.err.splitlines()[-1]


def test_status_of_a_job_beside_one_that_is_not_lowered(top: Path) -> None:
    run = podplan("status", "jobs.yaml", "--job", "three", cwd=top)
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith("PyTorchJob/three is Running")


@pytest.mark.parametrize("name", ["three", "PyTorchJob/three", "pytorchjob/three"])
@pytest.mark.parametrize("command", [("lower",), ("graph",), ("why",), ("status",)])
def test_one_job_of_several(top: Path, command: tuple[str, ...], name: str) -> None:
    question = ("WORLD_SIZE",) if command == ("why",) else ()
    run = podplan(*command, "jobs.yaml", *question, "--job", name, cwd=top)
    assert (run.code, run.err) == (0, "")
    assert "three" in run.out
    assert not any(name in run.out for name in ("one-node", "four", "five"))


@pytest.mark.parametrize("command", [("lower",), ("graph",), ("why",), ("status",)])
def test_a_job_that_does_not_exist(top: Path, command: tuple[str, ...]) -> None:
    question = ("WORLD_SIZE",) if command == ("why",) else ()
    run = podplan(*command, "jobs.yaml", *question, "--job", "thre", cwd=top)
    assert (run.code, run.out) == (2, "")
    assert 'there is no job "thre"; did you mean "three"?' in run.err
    other_kind = podplan(*command, "jobs.yaml", *question, "--job", "TrainJob/three", cwd=top)
    assert other_kind.code == 2
    assert 'there is no job "TrainJob/three"; there are one, two, three, four, five' in other_kind.err


def test_the_selected_job_has_errors(top: Path) -> None:
    run = podplan("lower", "jobs.yaml", "--job", "four", cwd=top)
    assert (run.code, run.out) == (1, "")
    assert run.err.endswith(
        "podplan: not lowered, because of the findings above: PyTorchJob/four of jobs.yaml\n"
    )
    assert "nowhere" not in run.err


def test_a_comparison_passes_over_other_jobs(top: Path) -> None:
    lowered = podplan("lower", "jobs.yaml", "--job", "three", cwd=top)
    (top / "dump.yaml").write_text(lowered.out)
    run = podplan(
        "lower", "jobs.yaml", "--compare", "dump.yaml", "--job", "three", "--format", "json", cwd=top
    )
    assert run.code in (0, 1)
    assert json.loads(run.out)["format"] == 1


@pytest.mark.parametrize(("command", "code"), [("lower", 1), ("graph", 1), ("why", 0), ("status", 0)])
def test_errors_that_prevent_no_lowering(top: Path, command: str, code: int) -> None:
    """As docs/lowering.md says: why and status answer for such a job, the others omit it."""
    text = (top / "jobs.yaml").read_text()
    job = next(one for one in text.split("---\n") if "name: three" in one)
    assert "containers:" in job
    (top / "job.yaml").write_text(
        job.replace("spec: {containers", "spec: {restartPolicy: Sometimes, containers")
    )
    question = ("WORLD_SIZE",) if command == "why" else ()
    run = podplan(command, "job.yaml", *question, cwd=top)
    assert run.code == code
    assert "restartPolicy" in run.err
    assert ("three" in run.out) is (code == 0)


def test_one_job_in_two_files_is_compared_by_the_name_of_a_file(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name in ("base.yaml", "copy.yaml"):
        (tmp_path / name).write_text(JOB)
    (tmp_path / "dump.txt").write_text(podplan("lower", "base.yaml", cwd=tmp_path).out)
    run = podplan("lower", "--compare", "dump.txt", cwd=tmp_path)
    assert run.code == 2
    assert run.err == (
        "podplan: dump.txt holds objects of one job that several files state (GenericJob count in base.yaml,"
        " GenericJob count in copy.yaml); name the file after the options\n"
    )
    assert podplan("lower", "--compare", "dump.txt", "copy.yaml", cwd=tmp_path).code == 0
