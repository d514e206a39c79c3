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
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: count, namespace: ml, labels: {a: b}}
spec:
  completionMode: Indexed
  completions: 3
  parallelism: 3
  backoffLimitPerIndex: 1
  maxFailedIndexes: 1
  podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {containerName: c, operator: In, values: [1]}}]}
  successPolicy: {rules: [{succeededIndexes: "0-1", succeededCount: 1}]}
  template:
    metadata: {labels: {a: b}, annotations: {c: d}}
    spec:
      restartPolicy: Never
      nodeSelector: {gpu: a}
      initContainers: [{name: i, image: "i:1", restartPolicy: Always}]
      containers:
      - name: c
        image: "i:1"
        command: [torchrun, --nproc_per_node=2, t.py]
        env: [{name: A, value: b}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
        resources: {limits: {cpu: 1, nvidia.com/gpu: 2}}
        volumeMounts: [{name: v, mountPath: /v}]
      volumes: [{name: v, emptyDir: {}}]
"""
JOB_SET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: js, namespace: ml}
spec:
  network: {enableDNSHostnames: true, subdomain: sub}
  successPolicy: {operator: All, targetReplicatedJobs: [w]}
  failurePolicy: {maxRestarts: 3, rules: [{name: r, action: FailJobSet, targetReplicatedJobs: [w]}]}
  coordinator: {replicatedJob: d, jobIndex: 0, podIndex: 0}
  volumeClaimPolicies:
  - templates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  replicatedJobs:
  - name: d
    groupName: g
    template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "i:1"}]}}}}
  - name: w
    replicas: 2
    dependsOn: [{name: d, status: Ready}]
    template:
      metadata: {labels: {a: b}}
      spec:
        parallelism: 2
        completions: 2
        template:
          spec:
            containers:
            - name: c
              image: "i:1"
              env: [{name: A, value: b}]
              volumeMounts: [{name: data, mountPath: /d}]
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
    """The CRs of the fixtures of each kind, and those that have no such fixture."""
    yield from (JOB, JOB_SET, TRAIN_JOB + RUNTIME)
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
        documents = [one for one in yaml.safe_load_all(text) if one and "apiVersion" in one]
        kinds = " ".join(f"{one.get('apiVersion')}/{one.get('kind')}" for one in documents)
        if documents:
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
@pytest.mark.long
def test_no_value_at_any_path_is_an_internal_error(seed: int) -> None:
    choose = Random(seed)
    documents = copy.deepcopy(choose.choice(load_bases()))
    for _ in range(choose.choice((1, 1, 2, 3))):
        replace_value(documents, choose)
        if not documents:
            return
    run_all(yaml.safe_dump_all(documents, sort_keys=False))


def test_a_syntax_error_is_a_finding_in_a_file_of_each_kind() -> None:
    for number, documents in enumerate(load_bases()):
        Path(f"{number:03}.yaml").write_text(yaml.safe_dump_all(documents) + "---\nx: [\n")
        Path(f"{number:03}-head.yaml").write_text(f"{yaml.safe_dump(documents[0])}x: [\n")
    findings = json.loads(podplan("check", "--no-cache", "--format", "json", ".").out)["findings"]
    broken = {one["file"] for one in findings if one["rule"] == "YAML001"}
    assert {file.name for file in Path().glob("*.yaml")} - broken == set()


@each_row("text", ["kind: CronJob", "kind: Jobs", "x: 'kind: Job'", "kind: Deployment"])
def test_a_syntax_error_in_a_file_of_other_kinds_is_no_finding(text: str) -> None:
    Path("other.yaml").write_text(f"apiVersion: batch/v1\n{text}\nx: [\n")
    assert podplan("check", "--no-cache", ".").code == 0
