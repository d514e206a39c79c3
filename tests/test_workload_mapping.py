"""Kinds that a WorkloadMapping declares: what they lower to, and what is wrong with a mapping."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from podplan.core import limits
from podplan.kinds.workload_mapping import mapping as declared_mapping
from tests.declared import FILES, MAPPINGS, TASK_JOB, TEMPLATE, TUNE_JOB, lay_out
from tests.golden_cases import podplan


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments: str) -> Any:
    return json.loads(podplan("check", "--format", "json", *arguments).out)


def found(result: Any, *rules: str) -> list[str]:
    return [
        f"{one['file']}:{one['line']} {one['rule']} {one['severity']}"
        for one in result["findings"]
        if not rules or one["rule"].startswith(rules)
    ]


def lowered(path: str) -> list[Any]:
    run = podplan("lower", path)
    assert run.code == 0, run.out + run.err
    return [one for one in yaml.safe_load_all(run.out) if one]


def test_each_replica_is_a_pod_of_the_template() -> None:
    pods = lowered("jobs/etl.yaml")
    assert [pod["metadata"]["name"] for pod in pods] == [
        "etl-head-0",
        "etl-worker-0",
        "etl-worker-1",
        "etl-worker-2",
    ]
    assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {"registry.example.com/etl:1.0.0"}


def test_a_template_is_taken_from_another_document() -> None:
    first, *others = lowered("jobs/sweep.yaml")
    assert len(others) == 3
    assert first["metadata"] == {"labels": {"app": "tune"}, "name": "sweep-worker-0", "namespace": "team"}
    assert [one["name"] for one in first["spec"]["containers"]] == ["proxy", "tune"]


def test_what_the_cr_says_is_laid_over_the_template(folder: Path) -> None:
    patch = "{spec: {containers: [{name: tune, image: 'registry.example.com/tune:2.0.0'}]}}"
    (folder / "jobs/sweep.yaml").write_text(TUNE_JOB.replace("workers: 4", f"patch: {patch}"))
    first, *others = lowered("jobs/sweep.yaml")
    assert len(others) == 1  # defaultReplicas
    assert [one["image"] for one in first["spec"]["containers"]] == [
        "registry.example.com/proxy:1.0.0",
        "registry.example.com/tune:2.0.0",
    ]
    why = podplan("why", "jobs/sweep.yaml", "Pod/sweep-worker-0:spec.containers[tune].image").out
    assert "from jobs/sweep.yaml:4" in why
    assert "platform/template.yaml:11" in why  # the value that it replaces


@pytest.mark.parametrize(
    ("tasks", "names"),
    [
        ("[{type: a}, {other: b}]", ["etl-a-0", "etl-1-0"]),
        ("{master: {}, 'we.rk': {}}", ["etl-master-0", "etl-we.rk-0"]),
    ],
)
def test_replica_types_are_called_as_their_entries(folder: Path, tasks: str, names: list[str]) -> None:
    data = yaml.safe_load(tasks)
    template = {"spec": {"containers": [{"name": "main", "image": "i:1.0.0"}]}}
    for entry in data if isinstance(data, list) else data.values():
        entry |= {"replicas": 1, "template": template}
    job = {**yaml.safe_load(TASK_JOB), "spec": {"tasks": data}}
    (folder / "jobs/etl.yaml").write_text(json.dumps(job))
    assert [pod["metadata"]["name"] for pod in lowered("jobs/etl.yaml")] == names


def test_names_and_counts_come_from_where_the_mapping_says(folder: Path) -> None:
    text = MAPPINGS.replace(
        '- {template: "spec.tasks[*].template", replicas: "spec.tasks[*].replicas"}',
        "- {template: 'spec.tasks[0].template', nameFrom: spec.label}\n  podName: '{type}-of-{job}-{index}'",
    )
    (folder / "platform/mappings.yaml").write_text(text)
    (folder / "jobs/etl.yaml").write_text(TASK_JOB.replace("spec:\n", "spec:\n  label: lead\n", 1))
    assert [pod["metadata"]["name"] for pod in lowered("jobs/etl.yaml")] == ["lead-of-etl-0"]


def test_findings_are_at_the_template_and_point_at_the_job(folder: Path) -> None:
    (folder / "platform/template.yaml").write_text(TEMPLATE.replace("tune:1.0.0", "tune:latest"))
    (folder / "jobs/more.yaml").write_text(TUNE_JOB.replace("sweep", "second"))
    (one,) = [one for one in check(".")["findings"] if one["rule"] == "IMG002"]
    assert (one["file"], one["line"]) == ("platform/template.yaml", 11)
    assert [(at["file"], at["line"], at["message"]) for at in one["related"]] == [
        ("jobs/more.yaml", 4, "this TuneJob uses it"),
        ("jobs/sweep.yaml", 4, "this TuneJob uses it"),
    ]


def test_rules_of_kubernetes_are_errors_and_assumptions_warnings(folder: Path) -> None:
    """What is written breaks a rule of the API server; a name that is assumed may be another."""
    text = TEMPLATE.replace("image: registry.example.com/tune:1.0.0", "imagePullPolicy: Sometimes")
    (folder / "platform/template.yaml").write_text(text)
    (folder / "jobs/sweep.yaml").write_text(TUNE_JOB.replace("sweep", "x" * 60))
    (folder / "jobs/etl.yaml").unlink()
    assert found(check("."), "SCHEMA", "NAME") == [
        "jobs/sweep.yaml:3 NAME001 warning",
        "platform/template.yaml:10 SCHEMA003 error",
        "platform/template.yaml:11 SCHEMA004 error",
    ]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("spec.tasks[*].template", "spec.task[*].template", 21, '"spec.task[*].template" finds nothing in'),
        ("spec.tasks[*].template", "spec.tasks[*]", 21, "this path finds no Pod template"),
        ("spec.tasks[*].replicas", "spec.tasks[*].count", 21, '"spec.tasks[*].count" finds nothing in'),
        ("spec.tasks[*].replicas", "spec.tasks[*][*]", 21, "has 2 × [*] and the path of the template has 1"),
        ("spec.tasks[*].replicas", "spec.tasks[", 21, "is no path"),
        ("name: spec.template}", "name: spec.template, template: spec}", 9, "no Pod template"),
    ],
)
def test_a_path_that_does_not_fit_is_a_finding_of_the_mapping(
    folder: Path, old: str, new: str, line: int, message: str
) -> None:
    (folder / "platform/mappings.yaml").write_text(MAPPINGS.replace(old, new))
    (folder / "jobs/more.yaml").write_text(TASK_JOB.replace("etl", "second"))
    (folder / "jobs/most.yaml").write_text(TUNE_JOB.replace("sweep", "third"))
    result = check(".")
    there = [one for one in result["findings"] if one["file"] == "platform/mappings.yaml"]
    assert [(one["rule"], one["severity"], one["line"]) for one in there] == [("CR903", "error", line)]
    assert message in there[0]["message"]
    assert (
        sum(result["summary"]["notChecked"].get(key, 0) for key in ("lowered objects: the CR has errors",))
        == 2
    )


def test_an_optional_replica_type_may_be_missing(folder: Path) -> None:
    entry = "  - {template: spec.driver, optional: true}\n"
    (folder / "platform/mappings.yaml").write_text(MAPPINGS + entry)
    assert len(lowered("jobs/etl.yaml")) == 4
    assert found(check("."), "CR9") == []


def test_a_mapping_with_errors_lowers_nothing(folder: Path) -> None:
    (folder / "platform/mappings.yaml").write_text(
        MAPPINGS.replace("replicas: spec.workers", "count: spec.workers")
    )
    result = check(".")
    assert found(result, "CR9", "PROF") == [
        "jobs/sweep.yaml:2 CR903 error",
        "platform/mappings.yaml:11 PROF001 error",
    ]
    assert result["summary"]["lowered"] == 4


def test_of_two_mappings_the_first_counts_and_the_other_is_reported(folder: Path) -> None:
    text = MAPPINGS.replace("spec.tasks[*]", "spec.nothing[*]")
    (folder / "platform/other.yaml").write_text(text.partition("---\n")[2])
    assert found(check("."), "CR9") == ["platform/other.yaml:5 CR903 error"]
    assert len(lowered("jobs/etl.yaml")) == 4


def test_a_mapping_may_be_for_some_versions(folder: Path) -> None:
    text = MAPPINGS.replace("kind: TaskJob", "kind: TaskJob\n  versions: [v2]")
    (folder / "platform/mappings.yaml").write_text(text)
    assert check("jobs/etl.yaml")["summary"]["lowered"] == 0
    (folder / "jobs/etl.yaml").write_text(TASK_JOB.replace("/v1", "/v2"))
    assert check("jobs/etl.yaml")["summary"]["lowered"] == 4


def test_a_kind_that_podplan_lowers_is_not_mapped(folder: Path) -> None:
    text = MAPPINGS.replace("batch.example.com", "batch.tensorstack.dev")
    (folder / "platform/mappings.yaml").write_text(text)
    assert found(check("platform"), "CR9") == ["platform/mappings.yaml:18 CR903 error"]


@pytest.mark.parametrize("value", ["three", "-1", "true", "1.5", "4294967296"])
def test_a_count_that_is_none_is_a_finding_of_the_cr(folder: Path, value: str) -> None:
    (folder / "jobs/etl.yaml").write_text(TASK_JOB.replace("replicas: 3", f"replicas: {value}"))
    result = check("jobs/etl.yaml")
    assert [one.rpartition(" ")[0][:-1] for one in found(result, "SCHEMA")] in (
        ["jobs/etl.yaml:10 SCHEMA00"],
    )
    assert result["summary"]["lowered"] == 0


def test_a_kind_without_a_mapping_is_counted_with_what_to_do() -> None:
    Path("platform/mappings.yaml").unlink()
    counts = check(".")["summary"]["notChecked"]
    note = "a WorkloadMapping of six lines makes podplan check its Pods: podplan explain WorkloadMapping"
    assert counts == {
        f"TaskJob (batch.example.com/v1; {note})": 1,
        "TuneJob (ml.example.com/v1)": 1,
        f"TuneTemplate (ml.example.com/v1; {note})": 1,
    }


def test_documents_of_one_stream_refer_to_each_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import io
    import sys

    (tmp_path / "empty/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "empty")
    text = "\n---\n".join(FILES.values())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert check("-")["summary"]["lowered"] == 8


def test_a_declared_job_has_no_status() -> None:
    run = podplan("status", "jobs/etl.yaml")
    assert run.code == 2
    assert "WorkloadMapping of TaskJob" in run.err


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("graph jobs/etl.yaml", "etl: TaskJob, 4 Pods"),
        ("explain WorkloadMapping.spec.replicaTypes", "templateFrom"),
        ("schema show WorkloadMapping", '"title": "WorkloadMapping"'),
    ],
)
def test_commands_know_the_mapping(command: str, output: str) -> None:
    run = podplan(*command.split())
    assert run.code == 0
    assert output in run.out


# --- the page

PAGE = (Path(__file__).parent.parent / "docs/workload-mapping.md").read_text(encoding="utf-8")
POD = {"spec": {"containers": [{"name": "main", "image": "registry.example.com/main:1.0.0"}]}}
CRS = {
    "TaskJob": ({"tasks": [{"name": "a", "replicas": 2, "template": POD}]}, ["j-a-0", "j-a-1"]),
    "HyperPodPyTorchJob": (
        {"nprocPerNode": "8", "replicaSpecs": [{"name": "pod", "template": POD}]},
        ["j-pod-0"],
    ),
    "TuneJob": ({"template": "big", "workers": 1}, ["j-worker-0"]),
}


@pytest.mark.parametrize(
    "mapping",
    [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.S)],
    ids=lambda mapping: str(mapping["spec"]["kind"]),
)
def test_the_mappings_of_the_page_lower_such_jobs(folder: Path, mapping: Any) -> None:
    group, kind = mapping["spec"]["group"], mapping["spec"]["kind"]
    spec, names = CRS[kind]
    (folder / "platform/mappings.yaml").write_text(yaml.safe_dump(mapping))
    job = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "j"}, "spec": spec}
    (folder / "jobs/j.yaml").write_text(yaml.safe_dump(job))
    assert [pod["metadata"]["name"] for pod in lowered("jobs/j.yaml")] == names
    assert found(check("platform", "jobs/j.yaml"), "CR9", "PROF", "SCHEMA") == []


# --- limits


def test_too_many_templates_reach_a_limit(folder: Path) -> None:
    task = {"replicas": 1, "template": {"spec": {"containers": [{"name": "main"}]}}}
    job = {**yaml.safe_load(TASK_JOB), "spec": {"tasks": [task] * (limits.MAX_POD_TEMPLATES + 1)}}
    (folder / "jobs/etl.yaml").write_text(json.dumps(job))
    run = podplan("check", "jobs")
    assert run.code == 4
    assert "pod-templates" in run.err


def test_a_path_goes_through_a_document_once() -> None:
    """A million matches are not gathered: the limit stops the search."""
    visited = 0

    class Counting(list[Any]):
        def __getitem__(self, index: Any) -> Any:
            nonlocal visited
            visited += 1
            return super().__getitem__(index)

    data = {"tasks": Counting([1] * 1_000_000)}
    places = declared_mapping.iter_places(data, ["tasks", "*"])
    for _ in range(limits.MAX_POD_TEMPLATES):
        next(places)
    assert visited <= limits.MAX_POD_TEMPLATES


@pytest.mark.long
def test_a_large_template_of_many_jobs_is_read_once(folder: Path) -> None:
    env = "".join(f"      - {{name: V{number}, value: x}}\n" for number in range(2_000))
    (folder / "platform/template.yaml").write_text(TEMPLATE + "      env:\n" + env)
    jobs = [TUNE_JOB.replace("sweep", f"job{number}") for number in range(300)]

    def seconds(count: int) -> float:
        (folder / "jobs/sweep.yaml").write_text("---\n".join(jobs[:count]))
        started = time.process_time()
        assert podplan("check", "--select", "IMG", "jobs/sweep.yaml").code == 0
        return time.process_time() - started

    seconds(1)
    assert seconds(300) < 15 * seconds(30)


def test_references_in_a_circle_end(folder: Path) -> None:
    """A reference leads to one document, and what that refers to is not followed."""
    circle = MAPPINGS.replace("kind: TuneTemplate, name: spec.template", "kind: TuneJob, name: spec.template")
    (folder / "platform/mappings.yaml").write_text(circle)
    (folder / "jobs/sweep.yaml").write_text(
        TUNE_JOB.replace("big", "second")
        + "---\n"
        + TUNE_JOB.replace("sweep", "second").replace("big", "sweep")
    )
    assert found(check("."), "CR9") == ["platform/mappings.yaml:9 CR903 error"]
