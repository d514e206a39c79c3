"""podplan migrate --to: what it writes and reports of each case, and the proof of its claims."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from podplan.pipeline import PipelineSettings, iter_job_plans
from podplan.tools.migrator.conversions import convert_files, find_target
from podplan.tools.migrator.process_comparison import describe_training
from podplan.tools.migrator.processes import read_processes
from podplan.workspace.documents import classify_documents
from podplan.workspace.loader import Loader
from podplan.yaml import parse_yaml
from podplan.yaml.comments import iter_comments
from tests.command import PROFILE, podplan
from tests.golden_cases import FIXTURES
from tests.rows import each_row
from tests.thoroughness import mark_others

CASES = sorted((FIXTURES / "migrate_to_train_job").iterdir())
UNFINISHED = 1

RUNTIME = (FIXTURES / "migrate_to_train_job" / "plain-python" / "before" / "runtime.yaml").read_text()
JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: digits}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
          - name: pytorch
            image: registry.example.com/digits:1
            command: [torchrun, train.py]
"""


def migrate(folder: Path, *flags: str) -> str:
    run = podplan("migrate", "--to", "TrainJob", *flags, ".", cwd=folder)
    return f"{run.out}{run.err}exit {run.code}\n"


def list_texts(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    shutil.copytree(case / "before", tmp_path / "jobs")
    report = migrate(tmp_path / "jobs")
    file_regression.check(report, fullpath=case / "said.txt", encoding="utf-8", newline="")
    for name, text in list_texts(tmp_path / "jobs").items():
        if text != (case / "before" / name).read_text():
            file_regression.check(text, fullpath=case / "after" / name, encoding="utf-8", newline="")
        else:
            assert not (case / "after" / name).exists()


@pytest.mark.parametrize("name", ["own-runtime", "migrated-by-hand", "unlike-templates"])
@pytest.mark.parametrize("format_", ["json", "markdown"])
def test_format(name: str, format_: str, tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    case = FIXTURES / "migrate_to_train_job" / name
    shutil.copytree(case / "before", tmp_path / "jobs")
    run = podplan("migrate", "--to", "TrainJob", "--check", "--format", format_, ".", cwd=tmp_path / "jobs")
    if format_ == "json":
        assert json.loads(run.out)["format"] == 1
    suffix = {"json": "json", "markdown": "md"}[format_]
    file_regression.check(run.out, fullpath=case / f"said.{suffix}", encoding="utf-8", newline="")


@pytest.mark.parametrize("case", mark_others(CASES, every=3), ids=lambda case: case.name)
def test_nothing_remains(case: Path, tmp_path: Path) -> None:
    """What was written passes podplan check, and is not migrated again."""
    shutil.copytree(case / "before", tmp_path / "jobs")
    before = migrate(tmp_path / "jobs")
    written = list_texts(tmp_path / "jobs")
    if "not migrated" in before:
        assert written == list_texts(case / "before")
        return
    after = podplan("migrate", "--to", "TrainJob", ".", cwd=tmp_path / "jobs")
    assert (after.code, after.err) == (
        3,
        "podplan: no job here that becomes a TrainJob, so nothing to migrate\n",
    )
    assert podplan("check", "--select", "SCHEMA,YAML,NAME,CR", ".", cwd=tmp_path / "jobs").code == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_comments_stay(case: Path, tmp_path: Path) -> None:
    shutil.copytree(case / "before", tmp_path / "jobs")
    migrate(tmp_path / "jobs")
    for name, text in list_texts(case / "before").items():
        if name.endswith(".yaml"):
            before, after = (
                Counter(one.text for one in iter_comments(source.text, source.documents))
                for source in (
                    parse_yaml(text.encode(), ""),
                    parse_yaml((tmp_path / "jobs" / name).read_bytes(), ""),
                )
            )
            assert before == after


def test_the_page_shows_the_cases() -> None:
    page = (FIXTURES.parent / "docs" / "migrating-to-trainjob.md").read_text()
    said = (FIXTURES / "migrate_to_train_job" / "plain-python" / "said.txt").read_text()
    assert said.rpartition("exit")[0] in page
    said = (FIXTURES / "migrate_to_train_job" / "migrated-by-hand" / "said.txt").read_text()
    assert said.partition("    variables of")[0] in page


@pytest.mark.parametrize("flag", ["--check", "--diff"])
def test_only_reported(flag: str, tmp_path: Path) -> None:
    shutil.copytree(CASES[0] / "before", tmp_path / "jobs")
    run = podplan("migrate", "--to", "TrainJob", flag, ".", cwd=tmp_path / "jobs")
    assert run.code == 1
    assert list_texts(tmp_path / "jobs") == list_texts(CASES[0] / "before")
    assert ("+++ job.yaml" in run.out) == (flag == "--diff")


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


@each_row(
    ("nodes", "command", "env", "training"),
    [
        (2, "[torchrun, train.py]", "[]", "one of 2 processes"),
        (2, "[python, train.py]", "[]", "2 apart, each of 1 process, which know of no other node"),
        (1, "[python, train.py]", "[]", "one of 1 process"),
        (
            2,
            "[torchrun, --standalone, train.py]",
            "[]",
            "2 apart, each of 1 process, which know of no other node",
        ),
        (2, "[torchrun, --nnodes=2, --nproc-per-node=4, train.py]", "[]", "one of 8 processes"),
        (2, "[torchrun, --nnodes=3, train.py]", "[]", "one of 2 processes, which wait for 3"),
        (
            2,
            "[torchrun, --master-addr=127.0.0.1, train.py]",
            "[]",
            "none: each node waits for the others at its own address",
        ),
        (
            2,
            "[python, train.py]",
            "[{name: MASTER_ADDR, value: a}, {name: MASTER_PORT, value: '1'}, {name: RANK, value: '0'},"
            " {name: WORLD_SIZE, value: '2'}]",
            "one of 2 processes",
        ),
    ],
)
def test_training_of_a_train_job(nodes: int, command: str, env: str, training: str, tmp_path: Path) -> None:
    job = f"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: digits}}
spec:
  runtimeRef: {{name: torch-distributed}}
  trainer: {{numNodes: {nodes}, command: {command}, env: {env}}}
"""
    write(tmp_path, job=job, runtime=RUNTIME)
    source = parse_yaml(job.encode(), str(tmp_path / "job.yaml"))
    (plan,) = iter_job_plans(next(classify_documents(source)), PipelineSettings(), Loader())
    pods = [group for group in plan.replica_groups if group.doc.data["kind"] == "Pod"]
    assert describe_training(read_processes(pods)) == training


@each_row(
    ("old", "new", "line"),
    [
        ("    Master:", "    Master: &anchor", "→ TrainJob/digits"),
        ("metadata: {name: digits}", "metadata: {generateName: digits-}", "→ TrainJob/digits-"),
        (
            "spec:\n          c",
            "spec:\n          dnsPolicy: ClusterFirst\n          c",
            "torch-distributed fits",
        ),
        (
            "          - name: pytorch\n",
            "          - name: pytorch\n            imagePullPolicy: IfNotPresent\n",
            "torch-distributed fits",
        ),
        (
            "          - name: pytorch\n",
            "          - name: pytorch\n            imagePullPolicy: Always\n",
            "no runtime fits",
        ),
        (
            "replicas: 1",
            "replicas: 1\n      restartPolicy: Always",
            "changed: restartPolicy Always becomes OnFailure",
        ),
        (
            "            command:",
            "            tty: true\n            command:",
            "lacks the container node with tty: True",
        ),
        ("spec:\n  py", "spec:\n  nprocPerNode: cpu\n  py", "to do: nprocPerNode cpu has no field"),
        ("[torchrun, train.py]", "[python, train.py]", "RANK, WORLD_SIZE are written in trainer.env"),
        (
            "[torchrun, train.py]",
            "[accelerate, launch, train.py]",
            "RANK, WORLD_SIZE are written in trainer.env",
        ),
        ("            command: [torchrun, train.py]\n", "", "the program is in the image"),
        (
            "spec:\n  py",
            "spec:\n  runPolicy: {ttlSecondsAfterFinished: 0}\n  py",
            "to do: ttlSecondsAfterFinished 0",
        ),
        (
            "spec:\n  py",
            "spec:\n  runPolicy: {ttlSecondsAfterFinished: 60}\n  py",
            "to do: ttlSecondsAfterFinished 60",
        ),
        (
            "spec:\n  py",
            "spec:\n  runPolicy: {cleanPodPolicy: None}\n  py",
            "changed: cleanPodPolicy None is removed",
        ),
        (
            "spec:\n  py",
            "spec:\n  runPolicy: {activeDeadlineSeconds: 60}\n  py",
            "changed: activeDeadlineSeconds",
        ),
        (
            "spec:\n  py",
            "spec:\n  runPolicy: {managedBy: kueue.x-k8s.io/multikueue}\n  py",
            "→ TrainJob/digits",
        ),
        ("replicas: 1", "replicas: 2", "is not migrated: "),
        (
            "metadata: {name: digits}",
            f"metadata: {{name: {'d' * 52}}}",
            "nothing is written: it would bring SCHEMA",
        ),
    ],
)
def test_field(old: str, new: str, line: str, tmp_path: Path) -> None:
    assert old in JOB
    write(tmp_path, job=JOB.replace(old, new, 1), runtime=RUNTIME)
    assert line in migrate(tmp_path)


def test_the_address_with_generate_name(tmp_path: Path) -> None:
    job = JOB.replace("{name: digits}", "{generateName: digits-}").replace("[torchrun,", "[python,")
    worker = JOB[JOB.index("      replicas: 1") :].replace("[torchrun,", "[python,")
    write(tmp_path, job=f"{job}    Worker:\n{worker}", runtime=RUNTIME)
    report = migrate(tmp_path)
    assert "training: one of 2 processes, as before" in report
    assert "MASTER_ADDR: digits-xxxxx-master-0 → digits-xxxxx-node-0-0.digits-xxxxx\n" in report


def test_json_stays(tmp_path: Path) -> None:
    source = parse_yaml(JOB.encode(), "")
    (tmp_path / "job.json").write_text(json.dumps(source.documents[0].data))
    run = podplan("migrate", "--to", "TrainJob", "job.json", cwd=tmp_path)
    assert "is not migrated: it is JSON: convert it to YAML first" in run.out
    assert run.code == 1


def test_multikueue_is_kept(tmp_path: Path) -> None:
    policy = "spec:\n  runPolicy: {managedBy: kueue.x-k8s.io/multikueue, suspend: true}\n"
    write(tmp_path, job=JOB.replace("spec:\n", policy, 1), runtime=RUNTIME)
    migrate(tmp_path)
    assert "  suspend: true\n  managedBy: kueue.x-k8s.io/multikueue\n" in (tmp_path / "job.yaml").read_text()


@each_row(
    ("old", "new", "reason"),
    [
        ("torch: {}", "jax: {}", "torch-distributed is not for torch"),
        ("framework: torch}", "framework: torch, trainer.kubeflow.org/support: deprecated}", "is deprecated"),
        ("name: node,", "name: node, command: [sleep],", "adds"),
        ("- name: node\n", "- name: node\n        replicas: 1\n", "fits"),
        (
            "{name: node, ",
            "{name: node, resources: {limits: {nvidia.com/gpu: 4}}, ",
            "adds nvidia.com/gpu to the resources",
        ),
        (
            "                - {name: node",
            "                - {name: logs, image: a}\n                - {name: node",
            "adds the container logs",
        ),
        (
            "kind: ClusterTrainingRuntime\nmetadata:\n",
            "kind: TrainingRuntime\nmetadata:\n  namespace: other\n",
            "fits",
        ),
    ],
)
def test_choice_of_a_runtime(old: str, new: str, reason: str, tmp_path: Path) -> None:
    assert old in RUNTIME
    write(tmp_path, job=JOB, runtime=RUNTIME.replace(old, new, 1))
    report = migrate(tmp_path)
    if new.startswith("name: node, command"):  # the command of the job replaces it
        reason = "fits"
    assert reason in report


def test_a_runtime_of_another_namespace_does_not_fit(tmp_path: Path) -> None:
    runtime = RUNTIME.replace("kind: Cluster", "kind: ").replace(
        "metadata:\n", "metadata:\n  namespace: other\n", 1
    )
    job = JOB.replace("{name: digits}", "{name: digits, namespace: vision}")
    write(tmp_path, job=job, runtime=runtime)
    assert "no runtime fits: the repository has none" in migrate(tmp_path)


def test_a_runtime_of_the_platform_is_preferred(tmp_path: Path) -> None:
    (tmp_path / "platform").mkdir()
    (tmp_path / "podplan.toml").write_text('exclude = ["platform"]\n[runtimes]\npaths = ["platform"]\n')
    write(tmp_path / "platform", torch=RUNTIME)
    write(tmp_path, job=JOB)
    assert "note: ClusterTrainingRuntime torch-distributed fits" in migrate(tmp_path)


def test_a_configuration_for_another_version(tmp_path: Path) -> None:
    (tmp_path / "podplan.toml").write_text('[lowering."trainer.kubeflow.org"]\nversion = "2.1"\n')
    write(tmp_path, job=JOB, runtime=RUNTIME)
    report = migrate(tmp_path)
    assert "the configuration states trainer.kubeflow.org 2.1, and these jobs are for 2.3" in report
    assert "1 file migrated" in report


def test_a_profile_is_named(tmp_path: Path) -> None:
    write(tmp_path, profile=PROFILE.replace("PyTorchTrainingJob", "PyTorchJob"))
    report = migrate(tmp_path)
    assert "is not migrated: it compiles to PyTorchJob: change job" in report
    assert report.endswith("exit 1\n")


def test_a_secret_is_not_shown(tmp_path: Path) -> None:
    job = JOB.replace(
        "torchrun, train.py]", "torchrun, train.py]\n            env: [{name: HF_TOKEN, value: hunter2}]"
    )
    write(tmp_path, job=job.replace("replicas: 1", "replicas: 1\n      restartPolicy: Never"))
    run = podplan("migrate", "--to", "TrainJob", "--diff", ".", cwd=tmp_path)
    assert "hunter2" not in run.out + run.err
    assert "hunter2" in job


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    write(tmp_path, job=JOB)
    for kind in ("PyTorchJob", "Nothing"):
        assert podplan("migrate", "--to", kind, ".", cwd=tmp_path).code == 2
    assert podplan("migrate", "--format", "json", ".", cwd=tmp_path).code == 2


def test_ten_thousand_nodes_cost_what_two_cost(tmp_path: Path) -> None:
    worker = JOB[JOB.index("      replicas: 1") :].replace("replicas: 1", "replicas: 9999")
    write(tmp_path, job=f"{JOB}    Worker:\n{worker}", runtime=RUNTIME)
    target = find_target("TrainJob")
    assert target is not None
    path = str(tmp_path / "job.yaml")
    source = parse_yaml(Path(path).read_bytes(), path)
    (result,) = convert_files([source], target, PipelineSettings(), Loader())
    comparison = result.jobs[0].comparison
    assert comparison is not None
    nodes = next(one for one in comparison.aspects if one.name == "nodes")
    assert (nodes.before, nodes.after) == ("10000", "10000")
    index = next(one for one in comparison.aspects if one.name == "JOB_COMPLETION_INDEX")
    assert (index.where, index.after) == ("nodes 0, 1, 9999", "0; 1; 9999")
