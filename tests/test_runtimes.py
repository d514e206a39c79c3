"""The runtimes of TrainJobs: which of several counts, and what is said about one that is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.declared import lay_out
from tests.editor import Editor
from tests.golden_cases import podplan

TRAIN_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: bert, namespace: team}
spec:
  runtimeRef: {name: torch}
  trainer: {numNodes: 2}
"""
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
            spec:
              template:
                spec: {containers: [{name: node, image: registry.example.com/train:1.0.0}]}
"""
CONFIG = '[runtimes]\npaths = ["platform/a"]\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {
        "jobs/bert.yaml": TRAIN_JOB,
        "platform/a/torch.yaml": RUNTIME,
        "platform/b/torch.yaml": RUNTIME.replace("train:1.0.0", "train:2.0.0"),
    }
    lay_out(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def find_rules(*rules: str) -> list[str]:
    result = json.loads(podplan("check", "--no-cache", "--format", "json", "jobs").out)
    return [f"{one['line']} {one['rule']}" for one in result["findings"] if one["rule"] in rules]


def find_message(rule: str) -> str:
    result = json.loads(podplan("check", "--no-cache", "--format", "json", "jobs").out)
    (found,) = [one for one in result["findings"] if one["rule"] == rule]
    return f"{found['message']} | {found['help']}"


def test_the_folders_of_the_configuration_take_precedence(folder: Path) -> None:
    assert find_rules("CR901", "CR902") == ["5 CR902"]
    (folder / "podplan.toml").write_text(CONFIG)
    assert find_rules("CR901", "CR902") == []
    assert "train:1.0.0" in podplan("lower", "jobs").out
    (folder / "podplan.toml").write_text(CONFIG.replace("/a", "/b"))
    assert "train:2.0.0" in podplan("lower", "jobs").out


def test_excluded_folders_of_the_configuration_are_read(folder: Path) -> None:
    (folder / "podplan.toml").write_text('exclude = ["platform"]\n')
    assert find_rules("CR901", "CR902") == ["5 CR901"]
    (folder / "podplan.toml").write_text(f'exclude = ["platform"]\n{CONFIG}')
    assert find_rules("CR901", "CR902") == []


def test_runtimes_elsewhere_in_the_repository_count_too(folder: Path) -> None:
    (folder / "podplan.toml").write_text(CONFIG)
    (folder / "platform/a/torch.yaml").unlink()
    assert "train:2.0.0" in podplan("lower", "jobs").out


@pytest.mark.parametrize("path", ["platform/none", "../elsewhere"])
def test_a_folder_that_does_not_exist_or_is_outside_ends_the_run(folder: Path, path: str) -> None:
    (folder / "podplan.toml").write_text(CONFIG.replace("platform/a", path))
    result = podplan("check", "jobs")
    assert result.code == 2
    assert "podplan.toml:2" in result.err or "there is no folder" in result.err


def test_a_runtime_of_the_other_kind_is_named(folder: Path) -> None:
    text = RUNTIME.replace("ClusterTrainingRuntime", "TrainingRuntime")
    (folder / "platform/a/torch.yaml").write_text(text)
    (folder / "platform/b/torch.yaml").unlink()
    message = find_message("CR901")
    assert message.startswith('ClusterTrainingRuntime "torch" is not in this repository')
    assert message.endswith(
        "platform/a/torch.yaml has a TrainingRuntime of this name: write kind: TrainingRuntime"
    )


def test_an_edit_of_a_runtime_checks_its_jobs_again(folder: Path) -> None:
    (folder / "podplan.toml").write_text(CONFIG)
    with Editor(folder) as editor:
        editor.start()
        editor.open("platform/a/torch.yaml")
        assert "IMG002" not in [one["code"] for one in editor.diagnostics("platform/a/torch.yaml")]
        editor.change("platform/a/torch.yaml", RUNTIME.replace("train:1.0.0", "train:latest"))
        assert "IMG002" in [one["code"] for one in editor.diagnostics("platform/a/torch.yaml")]


# --- versions of Trainer

OVERRIDE = """\
  podTemplateOverrides:
    - targetJobs: [{name: node}]
      metadata: {labels: {a: b}}
      spec: {nodeSelector: {pool: gpu}}
"""


def set_version(folder: Path, version: str) -> None:
    section = f'[lowering."trainer.kubeflow.org"]\nversion = "{version}"\n'
    (folder / "podplan.toml").write_text(f"{CONFIG}\n{section}")


@pytest.mark.parametrize(
    ("version", "rules"), [("2.1", []), ("2.2", ["7 SCHEMA012"]), ("2.3", ["7 SCHEMA012"])]
)
def test_overrides_of_templates_count_only_in_their_version(
    folder: Path, version: str, rules: list[str]
) -> None:
    (folder / "jobs/bert.yaml").write_text(TRAIN_JOB + OVERRIDE)
    set_version(folder, version)
    assert find_rules("SCHEMA001", "SCHEMA002", "SCHEMA009", "SCHEMA012") == rules
    assert ("pool: gpu" in podplan("lower", "jobs").out) == (version == "2.1")


@pytest.mark.parametrize(
    ("job", "rules"),
    [
        (TRAIN_JOB + OVERRIDE.replace("name: node", "name: nodes"), ["8 SCHEMA009"]),
        (TRAIN_JOB.replace("numNodes: 2", "numProcPerNode: xpu"), ["6 SCHEMA004"]),
        (TRAIN_JOB.replace("numNodes: 2", "numProcPerNode: auto"), []),
        (TRAIN_JOB.replace("numNodes: 2", "env: [{name: PET_NNODES, value: a}]"), []),
        (TRAIN_JOB.replace("numNodes: 2", "numProcPerNode: 1, env: [{name: PET_NNODES}]"), ["6 SCHEMA009"]),
    ],
)
def test_refusals_of_the_oldest_version(folder: Path, job: str, rules: list[str]) -> None:
    (folder / "jobs/bert.yaml").write_text(job)
    set_version(folder, "2.1")
    assert find_rules("SCHEMA002", "SCHEMA004", "SCHEMA009", "SCHEMA012") == rules


@pytest.mark.parametrize(("version", "cpu"), [("2.2", False), ("2.3", True)])
def test_resources_of_the_runtime_stay_since_they_are_merged(folder: Path, version: str, cpu: bool) -> None:
    limits = "train:1.0.0, resources: {limits: {cpu: 7}}"
    (folder / "platform/a/torch.yaml").write_text(RUNTIME.replace("train:1.0.0", limits))
    job = TRAIN_JOB.replace("numNodes: 2", "resourcesPerNode: {limits: {nvidia.com/gpu: 1}}")
    (folder / "jobs/bert.yaml").write_text(job)
    set_version(folder, version)
    pods = podplan("lower", "jobs").out
    assert 'nvidia.com/gpu: "1"' in pods
    assert ('cpu: "7"' in pods) == cpu
    assert ("bert-runtime-snapshot" in pods) == (version == "2.3")


# --- torchtune


def tune(folder: Path, trainer: str, name: str = "torchtune-llama3.2-1b") -> None:
    command = 'command: [tune, run, "output_dir=/workspace/output"], resources: {limits: {nvidia.com/gpu: 2}}'
    runtime = RUNTIME.replace("name: torch}", f"name: {name}}}").replace("train:1.0.0", f"t:1, {command}")
    job = TRAIN_JOB.replace("name: torch", f"name: {name}").replace("numNodes: 2", trainer)
    (folder / "platform/a/torch.yaml").write_text(runtime)
    (folder / "jobs/bert.yaml").write_text(job.replace("trainer: {", "trainer: {command: [tune, run], "))
    (folder / "podplan.toml").write_text(CONFIG)


@pytest.mark.parametrize(
    ("args", "recipe", "config"),
    [
        ("[]", "full_finetune_distributed", "llama3_2/1B_full"),
        ('["model.lora_attn_modules=[q_proj]"]', "lora_finetune_distributed", "llama3_2/1B_lora"),
        ('["model.quantize_base=False"]', "full_finetune_distributed", "llama3_2/1B_full"),
    ],
)
def test_adapters_choose_the_recipe(folder: Path, args: str, recipe: str, config: str) -> None:
    tune(folder, f"args: {args}")
    pods = podplan("lower", "jobs").out
    assert f"- {recipe}\n" in pods
    assert f"- {config}\n" in pods
    assert "output_dir=/workspace/output" in pods


@pytest.mark.parametrize(
    ("trainer", "name", "rules"),
    [
        ("numNodes: 2", "torchtune-llama3.2-1b", ["6 SCHEMA005"]),
        ("numNodes: 2", "torchtune-llama3.3-70b", []),
        ("numNodes: 2, args: [model.lora_attn_modules=a]", "torchtune-llama3.3-70b", ["6 SCHEMA009"]),
        ("numNodes: 1", "torch", ["5 SCHEMA004"]),
        ("args: [output_dir=/a]", "torchtune-llama3.2-1b", ["6 SCHEMA009"]),
        ("args: [model.quantize_base=True]", "torchtune-llama3.2-1b", ["6 SCHEMA009"]),
        ("args: [model.quantize_base=True], numProcPerNode: 1", "torchtune-llama3.2-1b", []),
        ("args: [model.quantize_base=True]", "torchtune-qwen2.5-1.5b", ["6 SCHEMA009"]),
    ],
)
def test_refusals_of_torchtune(folder: Path, trainer: str, name: str, rules: list[str]) -> None:
    tune(folder, trainer, name)
    assert find_rules("SCHEMA004", "SCHEMA005", "SCHEMA009") == rules
