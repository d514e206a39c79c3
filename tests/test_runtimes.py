"""The runtimes of TrainJobs: which of several counts, and what is said about one that is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from podplan.core.wording import add_article
from podplan.kinds.change_effects import compute_change_effect
from tests.declared import lay_out
from tests.editor import Editor
from tests.git import commit, git_in
from tests.golden_cases import podplan
from tests.rows import each_row

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


def test_a_path_does_not_go_up_and_down_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "podplan.toml").write_text(CONFIG)
    (folder / "platform" / "b" / "own.yaml").write_text(RUNTIME.replace("name: torch}", "name: own}"))
    monkeypatch.chdir(folder / "platform")
    image = "pod/bert-node-0-0:spec.containers.image"
    assert "  from a/torch.yaml:14:" in podplan("why", "../jobs/bert.yaml", image).out
    job = TRAIN_JOB.replace("{name: torch}", "{name: own}")
    (folder / "jobs" / "bert.yaml").write_text(job)
    assert "  from b/own.yaml:14:" in podplan("why", "../jobs/bert.yaml", image).out


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


def test_a_runtime_that_the_platform_does_not_have_is_an_error(folder: Path) -> None:
    job = folder / "jobs" / "bert.yaml"
    job.write_text(job.read_text().replace("name: torch", "name: other"))
    severities = {}
    for config in ("", CONFIG, f'{CONFIG}[severity]\nCR901 = "info"\n'):
        (folder / "podplan.toml").write_text(config)
        result = json.loads(podplan("check", "--no-cache", "--format", "json", "jobs").out)
        severities[config] = [one["severity"] for one in result["findings"] if one["rule"] == "CR901"]
    assert [*severities.values()] == [["warning"], ["error"], ["info"]]


def test_a_patch_of_what_the_trainer_states_is_explained(folder: Path) -> None:
    containers = "containers: [{name: node, resources: {limits: {cpu: 2}}}]"
    jobs = f"{{name: node, template: {{spec: {{template: {{spec: {{{containers}}}}}}}}}}}"
    template = f"{{spec: {{replicatedJobs: [{jobs}]}}}}"
    patch = f"{{manager: a.example.com/b, trainingRuntimeSpec: {{template: {template}}}}}"
    (folder / "podplan.toml").write_text(CONFIG)
    (folder / "jobs/bert.yaml").write_text(f"{TRAIN_JOB}  runtimePatches: [{patch}]\n")
    assert "spec.trainer.resourcesPerNode" in find_message("SCHEMA012")


def test_a_misspelt_field_of_a_runtime_is_named_at_the_job(folder: Path) -> None:
    (folder / "podplan.toml").write_text(CONFIG)
    policy = "torch: {envInjection: {targets: [{jobName: node, containerName: a}]}}"
    (folder / "platform/a/torch.yaml").write_text(RUNTIME.replace("torch: {}", policy))
    assert 'unknown field "containerName"' in find_message("CR910")


def test_a_similar_name_is_suggested(folder: Path) -> None:
    job = folder / "jobs" / "bert.yaml"
    job.write_text(job.read_text().replace("name: torch", "name: torhc"))
    assert find_message("CR901").endswith(" | write name: torch")


def test_a_runtime_that_trainer_ships_is_named(folder: Path) -> None:
    job = folder / "jobs" / "bert.yaml"
    job.write_text(job.read_text().replace("name: torch", "name: torch-distributed"))
    message = find_message("CR901")
    assert "Kubeflow Trainer ships this runtime" in message
    assert "kubectl get clustertrainingruntime torch-distributed -o yaml" in message


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


@pytest.mark.parametrize(
    ("version", "field", "types"),
    [
        ("2.1", "podTemplateOverrides", ["integer", "string"]),
        ("2.2", "runtimePatches", ["integer"]),
        ("2.3", "runtimePatches", ["integer"]),
    ],
)
def test_schemas_and_explanations_are_those_of_the_version(
    folder: Path, version: str, field: str, types: list[str]
) -> None:
    set_version(folder, version)
    spec = json.loads(podplan("explain", "TrainJob.spec", "--format", "json").out)["field"]["fields"]
    assert field in [one["name"] for one in spec]
    assert len({"podTemplateOverrides", "runtimePatches"} & {one["name"] for one in spec}) == 1
    topic = "TrainJob.spec.trainer.numProcPerNode"
    assert json.loads(podplan("explain", topic, "--format", "json").out)["field"]["type"] == types
    schema = json.loads(podplan("schema", "show", "TrainJob").out)
    assert field in schema["$defs"]["TrainJobSpec"]["properties"]
    runtime = podplan("schema", "show", "TrainingRuntime").out
    assert ('"jax"' in runtime) == (version != "2.1")


def test_the_editor_proposes_fields_of_the_version(folder: Path) -> None:
    set_version(folder, "2.1")
    with Editor(folder) as editor:
        editor.start()
        editor.open("jobs/bert.yaml", TRAIN_JOB + "  podT")
        proposed = editor.request("textDocument/completion", editor.at("jobs/bert.yaml", 6, 6))["items"]
        assert "podTemplateOverrides" in [one["label"] for one in proposed]


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


# --- pitfalls

PYTHON = "command: [python3, train.py]"
TORCHRUN = "command: [torchrun, train.py]"


@pytest.mark.parametrize(
    ("runtime", "job", "rules"),
    [
        ("numNodes: 1, torch", "numNodes: 2, " + TORCHRUN, []),
        ("numNodes: 2, torch", "", ["5 CR904"]),
        ("numNodes: 1, torch", "", []),
        ("numNodes: 2, jax", "", ["5 CR904"]),
        ("numNodes: 1, torch", "numNodes: 2, " + PYTHON, ["6 CR905"]),
        ("numNodes: 1, torch", PYTHON, []),
        ("numNodes: 1, jax", "numNodes: 2, " + PYTHON, []),
    ],
)
def test_pitfalls_of_variables(folder: Path, runtime: str, job: str, rules: list[str]) -> None:
    (folder / "podplan.toml").write_text(CONFIG)
    (folder / "platform/a/torch.yaml").write_text(RUNTIME.replace("numNodes: 1, torch", runtime))
    trainer = f"  trainer: {{{job}}}\n" if job else ""
    (folder / "jobs/bert.yaml").write_text(TRAIN_JOB.replace("  trainer: {numNodes: 2}\n", trainer))
    assert find_rules("CR904", "CR905", "CR906", "CR907", "CR908", "CR909") == rules


@pytest.mark.parametrize(
    ("job", "rules"),
    [
        ("resourcesPerNode: {limits: {cpu: 4}}", ["6 CR907"]),
        ("resourcesPerNode: {limits: {cpu: 4}}, numProcPerNode: 2", []),
        ("resourcesPerNode: {limits: {cpu: 4, nvidia.com/gpu: 2}}", []),
    ],
)
@pytest.mark.parametrize(
    ("version", "word"), [("2.3", "keeps nvidia.com/gpu: 2"), ("2.2", "loses nvidia.com/gpu")]
)
def test_gpus_that_resources_hide(folder: Path, job: str, rules: list[str], version: str, word: str) -> None:
    gpus = "train:1.0.0, resources: {limits: {nvidia.com/gpu: 2}}"
    (folder / "platform/a/torch.yaml").write_text(RUNTIME.replace("train:1.0.0", gpus))
    (folder / "jobs/bert.yaml").write_text(TRAIN_JOB.replace("numNodes: 2", job))
    set_version(folder, version)
    assert find_rules("CR907") == rules
    if rules:
        assert word in find_message("CR907")


def test_a_subdomain_hides_the_coordinator(folder: Path) -> None:
    (folder / "podplan.toml").write_text(CONFIG)
    network = "    spec:\n      network: {subdomain: train}\n"
    (folder / "platform/a/torch.yaml").write_text(RUNTIME.replace("    spec:\n", network, 1))
    assert find_rules("CR906") == ["5 CR906"]
    assert "bert-node-0-0.bert" in find_message("CR906")


def test_a_deprecated_runtime_is_named(folder: Path) -> None:
    (folder / "podplan.toml").write_text(CONFIG)
    label = "name: torch, labels: {trainer.kubeflow.org/support: deprecated}}"
    (folder / "platform/a/torch.yaml").write_text(RUNTIME.replace("name: torch}", label))
    assert find_rules("CR909") == ["5 CR909"]


MPI_RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch}
spec:
  mlPolicy: {numNodes: 1, mpi: {runLauncherAsNode: true}}
  template:
    spec:
      replicatedJobs:
        - name: node
          template: {spec: {template: {spec: {containers: [{name: node, image: "example.com/m:1"}]}}}}
        - name: launcher
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec: {template: {spec: {containers: [{name: node, image: "example.com/m:1"}]}}}
"""


@pytest.mark.parametrize(
    ("runtime", "nodes", "rules"),
    [
        (MPI_RUNTIME, 1, ["6 CR908"]),
        (MPI_RUNTIME, 2, []),
        (MPI_RUNTIME.replace("numNodes: 1", "numNodes: 2").replace("true", "false"), 2, ["5 CR908"]),
        (MPI_RUNTIME.replace("true", "false"), 2, []),
    ],
)
def test_nodes_of_mpi(folder: Path, runtime: str, nodes: int, rules: list[str]) -> None:
    (folder / "podplan.toml").write_text(CONFIG)
    (folder / "platform/a/torch.yaml").write_text(runtime)
    gpus = "resourcesPerNode: {limits: {nvidia.com/gpu: 2}}"
    (folder / "jobs/bert.yaml").write_text(TRAIN_JOB.replace("numNodes: 2", f"numNodes: {nodes}, {gpus}"))
    assert find_rules("CR908") == rules
    assert (find_rules("RES009") == []) == ("true" in runtime)  # a launcher in its hostfile trains


# --- changes


def compute_level(kind: str, old: str, new: str) -> str:
    api_version, _, spec = kind.rpartition("/")
    crs = (
        yaml.safe_load(f"{{apiVersion: {api_version}, kind: {spec}, spec: {text}}}") for text in (old, new)
    )
    return compute_change_effect(*crs).level


@pytest.mark.parametrize(
    ("kind", "old", "new", "level"),
    [
        (
            "trainer.kubeflow.org/v1alpha1/TrainJob",
            "{trainer: {numNodes: 1}}",
            "{trainer: {numNodes: 2}}",
            "re-run",
        ),
        ("trainer.kubeflow.org/v1alpha1/TrainJob", "{suspend: true}", "{suspend: false}", "in-place"),
        ("trainer.kubeflow.org/v1alpha1/TrainJob", "{}", "{runtimePatches: [{manager: a/b}]}", "re-run"),
        (
            "trainer.kubeflow.org/v1alpha1/TrainJob",
            "{suspend: true}",
            "{suspend: true, runtimePatches: [{manager: a/b}]}",
            "in-place",
        ),
        (
            "trainer.kubeflow.org/v1alpha1/TrainingRuntime",
            "{mlPolicy: {numNodes: 1}}",
            "{mlPolicy: {}}",
            "none",
        ),
        ("jobset.x-k8s.io/v1alpha2/JobSet", "{}", "{ttlSecondsAfterFinished: 3}", "in-place"),
        ("jobset.x-k8s.io/v1alpha2/JobSet", "{}", "{replicatedJobs: []}", "re-run"),
        ("batch/v1/Job", "{parallelism: 1}", "{parallelism: 2}", "in-place"),
        ("batch/v1/Job", "{backoffLimit: 1}", "{}", "in-place"),
        ("batch/v1/Job", "{completionMode: Indexed}", "{}", "re-run"),
    ],
)
def test_changes_of_jobs_that_run(kind: str, old: str, new: str, level: str) -> None:
    assert compute_level(kind, old, new) == level


def test_a_profile_without_a_runtime_is_told_the_field_of_the_profile(folder: Path) -> None:
    spec = "{job: TrainJob, image: registry.example.com/train:1.0.0, run: [a.py], retries: 3}"
    profile = f"apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {{name: a}}\nspec: {spec}\n"
    (folder / "jobs/bert.yaml").write_text(profile)
    result = json.loads(podplan("check", "--no-cache", "--format", "json", "jobs").out)
    said = {one["rule"]: (one["message"], one["help"]) for one in result["findings"]}
    assert said["SCHEMA003"][0] == 'required field "runtime" is missing in spec'
    assert said["SCHEMA003"][1].startswith("write runtime: NAME")
    assert "write spec.template.spec.failurePolicy.maxRestarts into the runtime" in said["PROF020"][0]
    assert "PyTorchJob" not in said["PROF020"][0]


MPI_JOBS = """\
        - name: node
          template: {spec: {parallelism: 2, template: {spec: {containers: [{name: node, image: "m:1"}]}}}}
        - name: launcher
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec: {template: {spec: {containers: [{name: node, image: "m:1"}]}}}
"""


@each_row(
    ("policy", "trainer", "pods"),
    [
        ("{numNodes: 1, mpi: {runLauncherAsNode: true}}", "{numNodes: 4}", {"node": 3, "launcher": 1}),
        ("{numNodes: 1, mpi: {runLauncherAsNode: true}}", "{numNodes: 1}", {"node": 1, "launcher": 1}),
        ("{numNodes: 3, mpi: {runLauncherAsNode: true}}", "{}", {"node": 2, "launcher": 3}),
        ("{numNodes: 3, mpi: {}}", "{}", {"node": 2, "launcher": 3}),
        ("{mpi: {}}", "{numNodes: 4}", {"node": 4, "launcher": 1}),
    ],
)
def test_the_runtime_counts_launchers_and_the_job_counts_nodes(
    policy: str, trainer: str, pods: dict[str, int], folder: Path
) -> None:
    (folder / "podplan.toml").write_text(CONFIG)
    (folder / "jobs/bert.yaml").write_text(TRAIN_JOB.replace("{numNodes: 2}", trainer))
    start = RUNTIME[: RUNTIME.index("        - name: node")].replace("{numNodes: 1, torch: {}}", policy)
    (folder / "platform/a/torch.yaml").write_text(start + MPI_JOBS)
    names = [
        one["metadata"]["generateName"].split("-")[1]
        for one in yaml.safe_load_all(podplan("lower", "jobs/bert.yaml").out)
        if one and one["kind"] == "Pod"
    ]
    assert {name: names.count(name) for name in pods} == pods


def test_an_editor_goes_from_a_job_to_its_runtime(folder: Path) -> None:
    (folder / "podplan.toml").write_text(CONFIG)
    spec = "{job: TrainJob, runtime: torch}"
    profile = f"apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {{name: a}}\nspec: {spec}\n"
    (folder / "jobs/a.yaml").write_text(profile)
    with Editor(folder) as editor:
        editor.start()
        for name, text in (("jobs/bert.yaml", TRAIN_JOB), ("jobs/a.yaml", profile)):
            editor.open(name)
            line = next(number for number, one in enumerate(text.splitlines()) if "torch" in one)
            column = text.splitlines()[line].index("torch") + 1
            found = editor.request("textDocument/definition", editor.at(name, line, column))
            assert found["uri"] == editor.uri("platform/a/torch.yaml")
            assert found["range"]["start"]["line"] == 2
        editor.change("jobs/bert.yaml", TRAIN_JOB + PATCH)
        line = (TRAIN_JOB + PATCH).splitlines().index(PATCH.splitlines()[-1])
        hover = editor.request(
            "textDocument/hover", editor.at("jobs/bert.yaml", line, PATCH.splitlines()[-1].index("a100"))
        )
        assert "in Pod/bert-node-0-" in hover["contents"]["value"]


@each_row(
    ("ports", "expected"),
    [
        ("[]", [29500]),
        ("[{name: http, containerPort: 80}]", [80, 29500]),
        ("[{containerPort: 80}]", [29500]),
        ("[{name: a, containerPort: 80}, {containerPort: 81}]", [80, 29500]),
        ("[{containerPort: 80}, {containerPort: 81}]", [81, 81]),
        ("[{name: torch, containerPort: 29500}]", [29500]),
    ],
)
def test_a_port_without_a_name_gives_way_to_that_of_torch(
    ports: str, expected: list[int], folder: Path
) -> None:
    (folder / "podplan.toml").write_text(CONFIG)
    runtime = RUNTIME.replace("{name: node, image", f"{{name: node, ports: {ports}, image")
    (folder / "platform/a/torch.yaml").write_text(runtime)
    objects = [one for one in yaml.safe_load_all(podplan("lower", "jobs/bert.yaml").out) if one]
    (jobset,) = [one for one in objects if one["kind"] == "JobSet"]
    (container,) = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]
    assert [one["containerPort"] for one in container["ports"]] == expected


PATCH = """\
  runtimePatches:
    - manager: nlp.example.com/team
      trainingRuntimeSpec:
        template:
          spec:
            replicatedJobs:
              - name: node
                template: {spec: {template: {spec: {nodeSelector: {gpu: a100}}}}}
"""


@each_row(
    ("field", "sources"),
    [
        ("nodeSelector.gpu", ["Job/bert-node-0", "JobSet/bert", "runtime with patch 0", "jobs/bert.yaml:14"]),
        ("containers[node].image", ["Job/bert-node-0", "JobSet/bert", "platform/a/torch.yaml:14"]),
    ],
)
def test_why_leads_from_the_pod_to_the_patch_or_to_the_runtime(
    field: str, sources: list[str], folder: Path
) -> None:
    (folder / "podplan.toml").write_text(CONFIG)
    (folder / "jobs/bert.yaml").write_text(TRAIN_JOB + PATCH)
    lines = podplan("why", "jobs/bert.yaml", f"Pod/bert-node-0-0:spec.{field}").out.splitlines()
    steps = [line.removeprefix("  from ") for line in lines if line.startswith("  from ")]
    assert [step.split("  ")[0] for step in steps] == [
        next(one.split("  ")[0] for one in steps if one.startswith(source)) for source in sources
    ]


def test_graph_draws_the_runtime_beside_the_pods(folder: Path) -> None:
    (folder / "podplan.toml").write_text(CONFIG)
    text = podplan("graph", "--format", "mermaid", "jobs/bert.yaml").out
    assert '["ClusterTrainingRuntime<br/>torch<br/>platform/a/torch.yaml"]'.replace("\\", "") in text
    assert "j0r0 --- j0p0" in text
    assert "ClusterTrainingRuntime torch" in podplan("graph", "jobs/bert.yaml").out


def test_diff_shows_what_a_runtime_changes_in_the_jobs(folder: Path) -> None:
    (folder / ".git").rmdir()
    git = git_in(folder)
    git("init", "-q")
    (folder / "podplan.toml").write_text(CONFIG)
    commit(git, "start")
    runtime = RUNTIME.replace("containers:", "schedulerName: gang, containers:")
    (folder / "platform/a/torch.yaml").write_text(runtime)
    result = json.loads(podplan("diff", "--base", "HEAD", "--format", "json").out)
    (job,) = [one for one in result["jobs"] if one["file"] == "jobs/bert.yaml"]
    assert job["what"] == "changed"
    assert job["through"] == ["ClusterTrainingRuntime torch"]
    changed = [(one["kind"], one["path"], one["after"]) for one in result["changes"]]
    assert ("Pod", "/spec/schedulerName", "gang") in changed


def test_diff_lists_the_jobs_that_a_runtime_of_another_folder_touches(folder: Path) -> None:
    (folder / ".git").rmdir()
    git = git_in(folder)
    git("init", "-q")
    (folder / "podplan.toml").write_text(CONFIG)
    other = TRAIN_JOB.replace("bert", "vit")
    (folder / "jobs/vit.yaml").write_text(other)
    (folder / "jobs/other.yaml").write_text(TRAIN_JOB.replace("bert", "gpt").replace("torch", "jax"))
    commit(git, "start")
    (folder / "platform/a/torch.yaml").write_text(RUNTIME.replace("train:1.0.0", "train:3.0.0"))
    text = podplan("diff", "--base", "HEAD").out
    assert text.splitlines()[2].endswith("; 2 change with the same CR")
    for name in ("bert", "vit"):
        assert f"= same CR   TrainJob {name}\n            jobs/{name}.yaml: 2 Pods; through" in text
    assert "gpt" not in text
    assert "~ changed   ClusterTrainingRuntime torch\n            platform/a/torch.yaml; for image" in text
    # The jobs do not change themselves, so they are listed also without the folder of the runtime.
    assert "TrainJob vit" in podplan("diff", "--base", "HEAD", "jobs").out


def test_a_train_job_of_a_queue_is_not_committed_as_suspended(folder: Path) -> None:
    (folder / "podplan.toml").write_text(CONFIG)
    suspended = TRAIN_JOB + "  suspend: true\n"
    (folder / "jobs/bert.yaml").write_text(suspended)
    assert find_rules("GIT070") == []
    labels = "namespace: team, labels: {kueue.x-k8s.io/queue-name: q}}"
    (folder / "jobs/bert.yaml").write_text(suspended.replace("namespace: team}", labels))
    assert find_rules("GIT070") == ["7 GIT070"]


def test_idle_gpus_of_a_runtime_are_found(folder: Path) -> None:
    (folder / "podplan.toml").write_text(CONFIG)
    gpus = "train:1.0.0, command: [torchrun, train.py], resources: {limits: {nvidia.com/gpu: 8}}"
    (folder / "platform/a/torch.yaml").write_text(RUNTIME.replace("train:1.0.0", gpus))
    assert find_rules("DIST001") == []
    (folder / "jobs/bert.yaml").write_text(TRAIN_JOB.replace("Nodes: 2", "Nodes: 2, numProcPerNode: 1"))
    assert len(find_rules("DIST001")) == 1


def test_a_volume_of_the_controller_is_no_volume_that_somebody_forgot_to_mount(folder: Path) -> None:
    """Trainer mounts the files of MPI in the container of its name only."""
    (folder / "podplan.toml").write_text(CONFIG)
    runtime = RUNTIME.replace("torch: {}", "mpi: {}").replace("name: node, image", "name: mpi, image")
    volume = "spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: coco}}], containers:"
    (folder / "platform/a/torch.yaml").write_text(runtime)
    assert find_rules("VOL046") == []
    (folder / "platform/a/torch.yaml").write_text(runtime.replace("spec: {containers:", volume))
    assert find_rules("VOL046") != []


@pytest.mark.usefixtures("folder")
def test_a_runtime_is_no_job() -> None:
    runtime = RUNTIME.replace("{name: torch}", "{name: own}")
    for command in ("status", "graph"):
        Path("file.yaml").write_text(runtime)
        run = podplan(command, "file.yaml")
        assert run.code == 3
        assert "no training job here" in run.err
    Path("file.yaml").write_text(f"{TRAIN_JOB.replace('{name: torch}', '{name: own}')}---\n{runtime}")
    run = podplan("graph", "file.yaml", "--format", "mermaid")
    assert run.code == 0
    assert "bert" in run.out
    assert run.out.count("subgraph") == 1
    assert "say which one" not in podplan("status", "file.yaml").err


@each_row(
    ["name", "text"],
    [
        ("MPIJob", "an MPIJob"),
        ("XGBoostJob", "an XGBoostJob"),
        ("TFJob", "a TFJob"),
        ("AutoTune", "an AutoTune"),
        ("Job", "a Job"),
        ("PyTorchJob", "a PyTorchJob"),
        ("JAXJob", "a JAXJob"),
        ("ImagePolicy", "an ImagePolicy"),
    ],
)
def test_the_article_of_a_kind(name: str, text: str) -> None:
    assert add_article(name) == text
