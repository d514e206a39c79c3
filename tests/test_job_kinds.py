"""Job, JobSet and TrainJob: what real controllers created is lowered, and what they refused is found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.golden_cases import podplan

FIXTURES = Path(__file__).parents[1] / "fixtures"
Case = dict[str, Any]
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  completionMode: Indexed
  parallelism: 2
  completions: 3
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "registry.example.com/train:1.0.0"}]
"""


def load_cases(folder: str) -> list[Case]:
    files = sorted((FIXTURES / folder).glob("recorded*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


CASES = [(folder, case) for folder in ("jobset", "trainer") for case in load_cases(folder)]
CREATED = [(folder, case) for folder, case in CASES if "objects" in case]


def name_case(value: Any) -> str:
    return value if isinstance(value, str) else f"{value['case']} {value.get('version', '')}".strip()


def lay_out(folder: Path, *documents: Any) -> None:
    (folder / ".git").mkdir()
    for number, document in enumerate(documents):
        text = document if isinstance(document, str) else json.dumps(document)
        (folder / ("cr.yaml" if number == 0 else f"other-{number}.yaml")).write_text(text, "utf-8")


def configure(folder: Path, case: Case) -> None:
    if "version" in case:
        section = '[lowering."trainer.kubeflow.org"]'
        (folder / "podplan.toml").write_text(f'{section}\nversion = "{case["version"]}"\n', "utf-8")


def slim(value: Any, path: tuple[str, ...] = (), place: bool = True) -> Any:
    """An object without what the fixtures leave out; without ``place`` also without labels of JobSet."""
    if isinstance(value, list):
        return [slim(one, (*path, "[]"), place) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, one in value.items():
        is_label = path[-1:] in (("labels",), ("annotations",))
        if path == ("metadata",) and key == "namespace":
            continue
        if is_label and key.startswith("jobset.sigs") and not place:
            continue
        slimmed = slim(one, (*path, key), place)
        if slimmed not in ({}, [], None):
            kept[key] = slimmed
    return kept


def drop_data(one: Any) -> Any:
    """A Secret, the snapshot of a runtime, or the scripts of Flux, whose data the fixtures leave out."""
    return {key: value for key, value in one.items() if key != "data"}


def iter_comparable(objects: list[Any], place: bool) -> Iterator[str]:
    for one in objects:
        if one["kind"] == "Job" and not place:
            continue
        name = one["metadata"].get("name", "")
        has_data = one["kind"] != "Secret" and not name.endswith(("-snapshot", "-flux-entrypoint"))
        yield json.dumps(slim(one if has_data else drop_data(one), (), place), sort_keys=True)


@pytest.mark.parametrize(("folder", "case"), CREATED, ids=name_case)
def test_objects_are_those_that_the_controllers_created(
    folder: str, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(tmp_path, case["cr"], *case.get("others", []))
    configure(tmp_path, case)
    monkeypatch.chdir(tmp_path)
    lowered = [one for one in yaml.safe_load_all(podplan("lower", "cr.yaml").out) if one]
    place = folder == "jobset"
    expected = sorted(iter_comparable(case["objects"], place))
    assert sorted(iter_comparable(lowered, place)) == expected


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=name_case)
def test_check_has_an_error_exactly_where_the_job_is_refused(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(tmp_path, case["cr"], *case.get("others", []))
    configure(tmp_path, case)
    monkeypatch.chdir(tmp_path)
    findings = json.loads(podplan("check", "--no-cache", "--format", "json", "cr.yaml").out)["findings"]
    own = [one for one in findings if one["rule"].startswith(("SCHEMA", "CR", "YAML"))]
    errors = [one for one in own if one["severity"] == "error"]
    assert bool(errors) == ("error" in case), errors


def test_scripts_of_flux_have_the_counts_of_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(one for one in load_cases("trainer") if one["case"] == "example-flux-lammps-train-gpus")
    case["cr"]["spec"]["trainer"]["numProcPerNode"] = 4
    lay_out(tmp_path, case["cr"], *case["others"])
    monkeypatch.chdir(tmp_path)
    lowered = {
        one["metadata"].get("name"): one for one in yaml.safe_load_all(podplan("lower", "cr.yaml").out)
    }
    assert lowered["lammps-flux-flux-entrypoint"]["data"] == {
        "entrypoint.sh": (
            "# lead broker: lammps-flux-node-0-0\n# resources: --cores=0-3 --gpu=0\n"
            "# flux run -N 2 -n 8 -g 1 COMMAND\n"
        ),
        "init.sh": (
            "# hosts: lammps-flux-node-0-[0-1], in lammps-flux.default.svc.cluster.local\n"
            "# network device: eth0\n# queue policy: fcfs\n"
        ),
    }


def test_pods_of_an_indexed_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path, JOB)
    monkeypatch.chdir(tmp_path)
    pods = [one for one in yaml.safe_load_all(podplan("lower", "cr.yaml").out) if one]
    assert [one["metadata"]["generateName"] for one in pods] == ["train-0-", "train-1-"]
    assert [one["spec"]["hostname"] for one in pods] == ["train-0", "train-1"]
    assert pods[0]["spec"]["containers"][0]["env"][0]["name"] == "JOB_COMPLETION_INDEX"


@pytest.mark.parametrize(
    ("old", "new", "line", "word"),
    [
        ("restartPolicy: Never", "dnsPolicy: Default", 10, "restartPolicy"),
        ("completions: 3", "backoffLimit: 3", 7, "completions"),
        ("Indexed", "indexed", 6, "NonIndexed or Indexed"),
        ("parallelism: 2", "parallelism: -2", 7, "negative"),
        ("parallelism: 2", "parallelism: 2\n  selector: {}", 8, "selector"),
        ("name: train", "name: t.rain", 4, "host name"),
    ],
)
def test_refusals_of_jobs(
    old: str, new: str, line: int, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(tmp_path, JOB.replace(old, new))
    monkeypatch.chdir(tmp_path)
    findings = json.loads(podplan("check", "--no-cache", "--format", "json", "cr.yaml").out)["findings"]
    errors = [(one["line"], one["message"]) for one in findings if one["severity"] == "error"]
    assert [one for one in errors if one[0] == line and word in one[1]], errors


def test_a_job_is_in_no_rule_about_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path, JOB.replace("main, ", "main, resources: {limits: {nvidia.com/gpu: 8}}, "))
    monkeypatch.chdir(tmp_path)
    findings = json.loads(podplan("check", "--no-cache", "--format", "json", "cr.yaml").out)["findings"]
    assert not [one for one in findings if one["rule"].startswith(("DIST", "ELASTIC", "LIFE"))]


def test_a_helm_template_with_a_job_is_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = JOB.replace("name: train", "name: {{ .Release.Name }}").replace("restartPolicy", "{{- x }}restart")
    lay_out(tmp_path, text)
    monkeypatch.chdir(tmp_path)
    result = json.loads(podplan("check", "--no-cache", "--format", "json", ".").out)
    assert result["findings"] == []


def test_many_pods_are_one_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = {"containers": [{"name": "main", "image": "registry.example.com/train:1.0.0"}]}
    job = {"parallelism": 100, "completions": 100, "template": {"spec": spec}}
    cr = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "big"},
        "spec": {"replicatedJobs": [{"name": "w", "replicas": 100, "template": {"spec": job}}]},
    }
    lay_out(tmp_path, cr)
    monkeypatch.chdir(tmp_path)
    folded = [one for one in yaml.safe_load_all(podplan("lower", "--fold", "cr.yaml").out) if one]
    assert [one["kind"] for one in folded] == ["Service", "Job", "Pod"]
    assert folded[-1]["spec"]["hostname"] == "big-w-{0..99}-{0..99}"
    why = podplan("why", "cr.yaml", "Pod/big-w-7-3:spec.hostname").out
    assert '"big-w-7-3"' in why


def test_provenance_leads_to_the_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(one for one in load_cases("trainer") if one["case"] == "custom-torch")
    lay_out(tmp_path, case["cr"], *case["others"])
    monkeypatch.chdir(tmp_path)
    why = podplan("why", "cr.yaml", "Pod/tj-node-0-1:spec.containers[0].image").out
    steps = [line.split()[1].partition(":")[0] for line in why.splitlines() if line.startswith("  from ")]
    assert steps[:2] == ["Job/tj-node-0", "JobSet/tj"]
    assert steps[-1].endswith(".yaml")
