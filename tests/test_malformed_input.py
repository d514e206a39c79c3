"""CRs and runtimes with values of any type at any place: findings, and never an internal error."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.golden_cases import podplan
from tests.rows import each_row
from tests.thoroughness import examples

ROOT = Path(__file__).parents[1]
VALUES: tuple[Any, ...] = (
    None,
    "x",
    "",
    5,
    -1,
    0,
    0.5,
    True,
    2**31,
    [None],
    [[]],
    {},
    [],
    ["x"],
    {"a": None},
    {"a": 5},
)
COMMANDS = ("check --no-cache --preset audit --preview --format json", "lower --fold", "graph", "status")
MAX_BASE_SIZE = 8_000
Document = dict[str, Any]
Steps = tuple[str | int, ...]

RUNTIME = """\
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: "i:1"}]}}}
      - name: dataset-initializer
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
          spec:
            template:
              spec:
                containers:
                - name: dataset-initializer
                  image: "i:1"
                  volumeMounts: [{name: initializer, mountPath: /w}]
                volumes: [{name: initializer, emptyDir: {}}]
"""
TRAIN_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tj, namespace: ml}
spec: {runtimeRef: {name: rt}, trainer: {}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_all(text: str) -> list[Document]:
    """Run the commands on a file; return the findings."""
    Path("job.yaml").write_text(text)
    findings: list[Document] = []
    for command in COMMANDS:
        run = podplan(*command.split(), "job.yaml")
        assert run.code in (0, 1, 2, 3), f"{command}: {run.out[-500:]}{run.err}"
        if command.startswith("check"):
            findings = json.loads(run.out)["findings"]
    return findings


def test_a_runtime_with_errors_is_named_and_not_lowered() -> None:
    findings = run_all(TRAIN_JOB + RUNTIME.replace("numNodes: 1", "numNodes: two"))
    (reference,) = [one for one in findings if one["rule"] == "CR910"]
    assert reference["line"] == 4
    assert reference["message"] == (
        'ClusterTrainingRuntime "rt" has errors, so the Pods of this TrainJob are not known and not checked:'
        " numNodes must be an integer, not a string"
    )
    assert [(one["line"], one["message"]) for one in reference["related"]] == [
        (10, "the ClusterTrainingRuntime")
    ]
    summary = json.loads(podplan("check", "--format", "json", "job.yaml").out)["summary"]
    reason = "lowered objects: a document that the CR refers to has errors"
    assert (summary["lowered"], summary["notChecked"][reason]) == (0, 1)


@each_row(
    ["old", "new"],
    [
        ("numNodes: 1", "numNodes: [1]"),
        ("replicatedJobs:", "replicatedJobs: 5\n      others:"),
        ('containers: [{name: node, image: "i:1"}]', "containers: [5]"),
        ("mlPolicy: {numNodes: 1, torch: {}}", "mlPolicy: 5"),
        ("labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}", "labels: 5"),
    ],
)
def test_each_error_of_a_runtime_is_a_finding(old: str, new: str) -> None:
    assert old in RUNTIME
    findings = run_all(TRAIN_JOB + RUNTIME.replace(old, new))
    assert "CR910" in [one["rule"] for one in findings]


def test_unknown_fields_of_a_runtime_do_not_prevent_lowering() -> None:
    findings = run_all(TRAIN_JOB + RUNTIME.replace("numNodes: 1", "numNodes: 1, unknown: 2"))
    assert "CR910" not in [one["rule"] for one in findings]
    assert "kind: Pod" in podplan("lower", "job.yaml").out


def test_an_empty_initializer_is_lowered() -> None:
    text = TRAIN_JOB.replace("trainer: {}", "initializer: {dataset: {}}")
    run_all(text + RUNTIME)
    pods = [one for one in yaml.safe_load_all(podplan("lower", "job.yaml").out) if one["kind"] == "Pod"]
    containers = [container for pod in pods for container in pod["spec"]["containers"]]
    (initializer,) = [one for one in containers if one["name"] == "dataset-initializer"]
    assert [one["name"] for one in initializer["env"]] == ["JOB_COMPLETION_INDEX"]


def read_bases() -> Iterator[str]:
    """The CRs of the fixtures of each kind, and a TrainJob with its runtime."""
    yield TRAIN_JOB + RUNTIME
    for path in sorted((ROOT / "fixtures").glob("*/*/cr.yaml")):
        text = path.read_text()
        if len(text) < MAX_BASE_SIZE:
            yield text
    for path in sorted((ROOT / "policies" / "bases").glob("*.yaml")):
        documents = [one for one in yaml.safe_load_all(path.read_text()) if one]
        yield yaml.safe_dump_all(documents, sort_keys=False)


@cache
def load_bases() -> list[list[Document]]:
    """One group of documents for each base, the first two of each kind."""
    bases: dict[str, list[list[Document]]] = {}
    for text in read_bases():
        documents = [one for one in yaml.safe_load_all(text) if one]
        kinds = " ".join(f"{one.get('apiVersion')}/{one.get('kind')}" for one in documents)
        bases.setdefault(kinds, []).append(documents)
    return [base for same_kinds in bases.values() for base in same_kinds[:2]]


def iter_paths(value: Any, path: Steps = ()) -> Iterator[Steps]:
    if path:
        yield path
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for step, child in children:
        yield from iter_paths(child, (*path, step))


def replace_value(documents: list[Document], choose: Random) -> None:
    """Replace or delete the value at a path of the documents."""
    path = choose.choice(list(iter_paths(documents)))
    parent: Any = documents
    for step in path[:-1]:
        parent = parent[step]
    if choose.randrange(len(VALUES) + 1) == 0:
        del parent[path[-1]]
    else:
        parent[path[-1]] = copy.deepcopy(choose.choice(VALUES))


@settings(
    max_examples=examples(60),
    phases=[Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.integers(0, 2**64))
def test_no_value_at_any_path_is_an_internal_error(seed: int) -> None:
    choose = Random(seed)
    documents = copy.deepcopy(choose.choice(load_bases()))
    for _ in range(choose.choice((1, 1, 2, 3))):
        replace_value(documents, choose)
        if not documents:
            return
    run_all(yaml.safe_dump_all(documents, sort_keys=False))
