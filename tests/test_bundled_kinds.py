"""Kinds whose WorkloadMapping ships with podplan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import podplan

RAY_JOB = """\
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: a-name-of-forty-seven-characters-for-the-ray-job, namespace: ml}
spec:
  entrypoint: python train.py
  shutdownAfterJobFinishes: true
  rayClusterSpec:
    headGroupSpec:
      rayStartParams: {}
      template: {spec: {containers: [{name: ray, image: registry.example.com/ray:2.9.0}]}}
    workerGroupSpecs:
    - groupName: a-group-of-workers-with-gpus
      replicas: 2
      numOfHosts: 3
      rayStartParams: {}
      template:
        spec:
          containers:
          - name: ray
            image: registry.example.com/ray:2.9.0
            resources: {limits: {nvidia.com/gpu: 8}}
"""
MAPPING = """\
apiVersion: podplan/v1
kind: WorkloadMapping
spec:
  group: ray.io
  kind: RayJob
  replicaTypes: [{name: only, template: spec.rayClusterSpec.headGroupSpec.template}]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "ray.yaml").write_text(RAY_JOB)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def list_rules() -> set[str]:
    shown = podplan("check", "--isolated", "--no-cache", "--format", "json", ".")
    return {one["rule"] for one in json.loads(shown.out)["findings"] if one["severity"] != "info"}


def count_pods() -> int:
    return int(json.loads(podplan("plan", "--format", "json", ".").out)["jobs"][0]["pods"])


def test_a_replica_has_several_pods() -> None:
    assert count_pods() == 1 + 2 * 3


def test_rules_know_what_kuberay_adds() -> None:
    """It mounts a volume at /dev/shm, and shortens the names of Pods."""
    assert list_rules().isdisjoint({"RES001", "NAME001"})


def test_a_mapping_of_the_repository_takes_precedence(folder: Path) -> None:
    (folder / "mapping.yaml").write_text(MAPPING)
    assert count_pods() == 1


def test_a_template_without_containers_is_reported_in_the_cr(folder: Path) -> None:
    (folder / "ray.yaml").write_text(
        RAY_JOB.replace("[{name: ray, image: registry.example.com/ray:2.9.0}]", "").replace(
            "{spec: {containers: }}", "{spec: {}}"
        )
    )
    shown = podplan("check", "--isolated", "--no-cache", "--format", "concise", ".")
    assert "ray.yaml:10:17: error SCHEMA003 spec.containers is missing in this Pod template" in shown.out
