"""TrainJobs beside those that were recorded: what becomes of them is what people decided by the evidence."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from podplan.lint.example_objects import apply_patch
from tests.golden_cases import podplan
from tests.rows import each_row

FIXTURES = Path(__file__).parents[1] / "fixtures" / "trainer_jobs"
VARIATIONS = {row["name"]: row for row in yaml.safe_load((FIXTURES / "variations.yaml").read_text("utf-8"))}
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
PATHS = {
    "JOB": "/spec/template/spec/replicatedJobs/node/template/spec",
    "POD": "/spec/template/spec/replicatedJobs/node/template/spec/template/spec",
    "NODE": "/spec/template/spec/replicatedJobs/node/template/spec/template/spec/containers/node",
}


def build_job(name: str, container: str, step: str) -> dict[str, Any]:
    """A replicated job of a runtime with one container."""
    spec: dict[str, Any] = {"containers": [{"name": container, "image": "r.example.com/a:1"}]}
    if container != "node":
        spec["containers"][0]["volumeMounts"] = [{"name": "initializer", "mountPath": "/workspace"}]
        spec["volumes"] = [{"name": "initializer", "emptyDir": {}}]
    metadata = {"metadata": {"labels": {STEP: step}}} if step else {}
    return {"name": name, "template": {**metadata, "spec": {"template": {"spec": spec}}}}


def build_documents(row: dict[str, Any]) -> list[dict[str, Any]]:
    if "object" in row:
        return [row["object"]]
    has_launcher = row.get("launcher", False)
    names = [f"{one}-initializer" for one in row.get("initializers", [])]
    jobs = [build_job(name, name, name) for name in names]
    jobs.append(build_job("node", "node", "" if has_launcher else "trainer"))
    if has_launcher:
        jobs.append(build_job("launcher", "node", "trainer"))
    api = {"apiVersion": "trainer.kubeflow.org/v1alpha1"}
    policy = {"mlPolicy": row["policy"]} if row["policy"] is not None else {}
    spec = {**policy, "template": {"spec": {"replicatedJobs": jobs}}}
    runtime = {**api, "kind": "ClusterTrainingRuntime", "metadata": {"name": "runtime"}, "spec": spec}
    patch = {}
    for path, value in row.get("runtime", {}).items():
        first, slash, rest = path.partition("/")
        patch[f"{PATHS[first]}{slash}{rest}" if first else path] = value
    job = {
        **api,
        "kind": "TrainJob",
        "metadata": {"name": "train", "namespace": "nlp", **row.get("metadata", {})},
        "spec": {"runtimeRef": {"name": "runtime"}, **row["spec"]},
    }
    return [job, apply_patch(copy.deepcopy(runtime), patch)]


def name_of(thing: dict[str, Any]) -> str:
    metadata = thing["metadata"]
    return str(metadata.get("name") or metadata["generateName"].removesuffix("-"))


def find(objects: list[dict[str, Any]], place: str) -> Any:
    """The value at a place as the fixtures write it; None if it is not there."""
    if place == "pods":
        return sum(one["kind"] == "Pod" for one in objects)
    first, *keys = place.split(" ")
    kind, _, name = first.partition("/")
    if not name:
        kind, *parts = first.split(":")
        name = "train"
        to_job = ["spec", "replicatedJobs", *parts[:1], "template", "spec"]
        prefix = {
            "set": [],
            "job": to_job,
            "pod": [*to_job, "template"],
            "box": [*to_job, "template", "spec", "containers", *parts[1:]],
        }
        keys, kind = [*prefix[kind], *keys], "JobSet"
    named = [one for one in objects if one["kind"] == kind and name_of(one) == name]
    value: Any = named[0] if named else None
    for key in keys:
        if isinstance(value, list):
            if key == "names":
                return [one["name"] for one in value]
            by_name = [one for one in value if one.get("name") == key]
            value = value[int(key)] if key.isdecimal() else by_name[0] if by_name else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return None if value in ({}, []) else value


@pytest.mark.long
@each_row("name", VARIATIONS)
def test_a_variation_becomes_what_the_evidence_says(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    row, folder = VARIATIONS[name], tmp_path / str([*VARIATIONS].index(name))
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    version = row.get("version", "2.3")
    (folder / "podplan.toml").write_text(f'[lowering."trainer.kubeflow.org"]\nversion = "{version}"\n')
    for file, document in zip(("job.yaml", "runtime.yaml"), build_documents(row), strict=False):
        (folder / file).write_text(json.dumps(document), "utf-8")
    result = json.loads(podplan("check", "--no-cache", "--format", "json", "job.yaml").out)
    errors = [f"{one['rule']} {one['message']}" for one in result["findings"] if one["severity"] == "error"]
    assert bool(errors) is row.get("refused", False), errors
    if errors:
        return
    objects = [one for one in yaml.safe_load_all(podplan("lower", "job.yaml").out) if one]
    assert {place: find(objects, place) for place in row["expect"]} == row["expect"]


def test_there_are_enough_variations() -> None:
    policies = {key for row in VARIATIONS.values() for key in row.get("policy") or ()}
    assert policies >= {"torch", "jax", "xgboost", "mpi", "flux"}
    assert {row.get("version", "2.3") for row in VARIATIONS.values()} == {"2.1", "2.2", "2.3"}
    assert len(VARIATIONS) >= 90
