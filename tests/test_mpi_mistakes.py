"""Mistakes that people make in MPI, TensorFlow, XGBoost and Beam jobs, and jobs without one.

``expect`` of a mistake has a line for each error, warning and info, without the infos of a job without a
mistake; ``not_found`` is the reason why there is none.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from podplan.core.findings import Finding, Severity
from podplan.lint.example_objects import ExampleBases
from podplan.lint.registry import load_builtin_policies, load_example_bases
from podplan.lint.rule_selection import RuleSelection, select_policies
from podplan.tools.repository_tests.examples import find_violations
from tests.command import podplan
from tests.git import git_in
from tests.rows import each_row

FOLDER = Path(__file__).parent.parent / "fixtures" / "mpi_mistakes"
MISTAKES = yaml.safe_load((FOLDER / "mistakes.yaml").read_text(encoding="utf-8"))
CLEAN = yaml.safe_load((FOLDER / "clean.yaml").read_text(encoding="utf-8"))


@cache
def bases() -> ExampleBases:
    shared = load_example_bases()
    return ExampleBases({**objects_of(shared), **MISTAKES["bases"]})


def objects_of(shared: ExampleBases) -> dict[str, Any]:
    return {name: shared.resolve_object({"base": name}) for name in shared.names}


def check(row: dict[str, Any]) -> list[Finding]:
    policies = select_policies(load_builtin_policies(), RuleSelection())
    return find_violations(bases().resolve_example({"object": row["object"]}), policies)


def lines(findings: list[Finding], least: Severity) -> list[str]:
    return sorted(f"{one.rule}: {one.message}" for one in findings if one.severity >= least)


@each_row("row", MISTAKES["rows"], ids=lambda row: f"{row['row']}-{row['name']}")
def test_a_mistake_is_found(row: dict[str, Any]) -> None:
    assert lines(check(row), Severity.WARNING) == row.get("expect", [])
    assert ("expect" in row) is not ("not_found" in row)


@each_row("row", CLEAN["rows"], ids=lambda row: row["name"])
def test_a_clean_job_is_clean(row: dict[str, Any]) -> None:
    assert lines(check(row), Severity.WARNING) == []


OTHER_OBJECTS = [
    (
        "28 runPolicy twice",
        {},
        "  runPolicy: {}\n",
        ["YAML002"],
    ),
    (
        "B36 namespace without root",
        {},
        """---
apiVersion: v1
kind: Namespace
metadata: {name: nlp, labels: {pod-security.kubernetes.io/enforce: restricted}}
""",
        ["SEC014", "SEC015", "SEC017", "SEC018"],
    ),
    (
        "B42 quota for a launcher without requests",
        {"/spec/mpiReplicaSpecs/Launcher/template/spec/containers/mpi/resources": None},
        """---
apiVersion: v1
kind: ResourceQuota
metadata: {name: all, namespace: nlp}
spec: {hard: {requests.cpu: "64"}}
""",
        ["SCHED091"],
    ),
]


@each_row(("name", "patch", "text", "rules"), OTHER_OBJECTS, ids=[row[0] for row in OTHER_OBJECTS])
def test_a_mistake_that_other_text_shows(
    name: str, patch: dict[str, Any], text: str, rules: list[str], tmp_path: Path
) -> None:
    job = bases().resolve_example({"object": {"base": "operator", **patch}})["object"]
    folder = tmp_path / name.split()[0]
    folder.mkdir()
    (folder / "job.yaml").write_text(yaml.safe_dump(job, sort_keys=False) + text)
    found = json.loads(podplan("check", "--isolated", "--format", "json", folder).out)["findings"]
    assert sorted({one["rule"] for one in found if one["severity"] == "error"}) == rules


def test_a_changed_queue_is_found(tmp_path: Path) -> None:
    job = bases().resolve_example({"object": {"base": "tensorflow"}})["object"]
    path = write_job(tmp_path, job)
    git = git_in(tmp_path)
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    job["spec"]["scheduler"]["t9kScheduler"]["queue"] = "other"
    write_job(tmp_path, job)
    shown = podplan("check", "--isolated", "--base", "HEAD", path).out
    assert "error[GIT002 immutable-field-changed]: queue of TensorFlowTrainingJob/train changes" in shown


WORKFLOW = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: WorkflowTemplate
metadata: {name: NAME}
spec:
  type: MPIJob
  mpiJob:
    spec:
      worker:
        replicas: 2
        processesPerWorker: 3
        cmd: [./train, --steps, "20"]
        template:
          spec:
            containers:
            - name: mpi-worker
              image: registry.example.com/nlp/train:4
              env: [{name: API_TOKEN, value: hunter2hunter2}]
              resources: {limits: {cpu: 1, memory: 1Gi}}
"""


def test_the_job_of_a_workflow_is_checked_as_others_are(tmp_path: Path) -> None:
    """Row 74. Its name is not that of the workflow, so nothing is said about that or about two of a name."""
    path = tmp_path / "flow.yaml"
    path.write_text("---\n".join(WORKFLOW.replace("NAME", name) for name in ("flow", "flow", "a" * 80)))
    run = podplan("check", "--isolated", "--format", "json", path)
    found = json.loads(run.out)["findings"]
    places = [(one["rule"], one["line"]) for one in found if one["severity"] != "info" and one["line"] < 19]
    assert places == [("MPI079", 10), ("PROF107", 17)]
    rules = [one["rule"] for one in found]
    assert rules == 3 * rules[: len(rules) // 3]
    assert "hunter2" not in run.out


def test_a_workflow_of_steps_is_counted_as_not_checked(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(WORKFLOW.replace("mpiJob:", "pod:"))
    assert "not checked: 1 × WorkflowTemplate" in podplan("check", "--isolated", tmp_path).out


def test_the_manifest_of_a_workflow_has_a_version_and_conditions_that_jobs_have(tmp_path: Path) -> None:
    """Row 77, as three manuals write it."""
    (tmp_path / "flow.yaml").write_text("""\
apiVersion: batch.tensorstack.dev/v1beta1
kind: WorkflowTemplate
metadata: {name: train}
spec:
  type: Resource
  resource:
    manifest: |
      apiVersion: batch.tensorstack.dev
      kind: TensorFlowTrainingJob
      metadata: {generateName: train-}
      spec: {replicaSpecs: [{type: worker, replicas: $(params.workers)}]}
    successRules: {conditionSelector: {type: Succeeded, status: "True"}}
    failureRules: {conditionSelector: {type: Failed, status: "True"}}
""")
    run = podplan("check", "--isolated", "--format", "concise", tmp_path)
    assert [line.partition(": ")[2] for line in run.out.splitlines()[:2]] == [
        'error SCHEMA010 the manifest has apiVersion "batch.tensorstack.dev", which has no version',
        'error SCHEMA004 no TensorFlowTrainingJob has a condition "Succeeded", so these successRules never'
        " apply",
    ]
    assert "not checked: 1 × WorkflowTemplate" in run.out


def test_a_patch_of_a_workflow_is_not_checked(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: []\npatches: [{path: flow.yaml}]\n")
    (tmp_path / "flow.yaml").write_text(WORKFLOW.replace("cmd:", "comand:"))
    run = podplan("check", "--isolated", tmp_path)
    assert "no findings" in run.out


def write_job(folder: Path, job: dict[str, Any]) -> Path:
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump(job, sort_keys=False))
    return path


def test_there_are_enough() -> None:
    assert len(CLEAN["rows"]) >= 20
    missed = [row for row in MISTAKES["rows"] if "not_found" in row]
    assert len(missed) * 4 < len(MISTAKES["rows"])


@pytest.mark.parametrize(
    ("spec", "help_text"),
    [
        ("worker: {replicas: 1, template: TEMPLATE}", "write worker.cmd: [PROGRAM, ARGUMENT, …]"),
        (
            "mpiConfig: {}\n  replicaSpecs: [{type: worker, replicas: 1, template: TEMPLATE}]",
            "write mpiConfig.script: [PROGRAM, ARGUMENT, …]",
        ),
    ],
    ids=["worker", "replicaSpecs"],
)
def test_a_line_without_a_program_says_where_to_write_it(tmp_path: Path, spec: str, help_text: str) -> None:
    template = "{spec: {containers: [{name: worker, image: registry.example.com/mpi:4.1}]}}"
    text = (
        f"apiVersion: batch.tensorstack.dev/v1beta1\nkind: MPIJob\nmetadata: {{name: pi}}\nspec:\n  {spec}\n"
    )
    (tmp_path / "job.yaml").write_text(text.replace("TEMPLATE", template))
    assert help_text in podplan("check", "--isolated", "--select", "DIST012", ".", cwd=tmp_path).out
