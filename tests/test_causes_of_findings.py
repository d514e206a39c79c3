"""A finding names the lines that make it so, in bases, params and environments too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import podplan

HEAD = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: one}
spec:
"""
BODY = """\
  job: PyTorchTrainingJob
  image: registry.example.com/train@sha256:0000000000000000000000000000000000000000000000000000000000000000
  launcher: torchrun
  run: [train.py]
  shm: 8Gi
"""
LITERAL_GPUS = "  resources: {limits: {nvidia.com/gpu: 8, cpu: 8, memory: 64Gi}}\n"
PARAM_GPUS = LITERAL_GPUS.replace("gpu: 8", 'gpu: "${{ params.gpus }}"')
GPU_PARAMS = "  params: {gpus: {type: integer, default: 4}}\n"
ENVIRONMENTS = "  environments:\n    dev: {}\n    prod: {values: {gpus: 8}}\n"


def list_lines(folder: Path, rule: str) -> dict[str, set[str]]:
    """The texts of all lines that a finding names, by its message, and the variants that it names."""
    page = json.loads(podplan("check", "--format", "json", ".", cwd=folder).out)
    lines = {path.name: path.read_text().splitlines() for path in folder.iterdir()}
    found = {}
    for one in page["findings"]:
        if one["rule"] == rule:
            places = [one, *one["related"]]
            found[one["message"]] = {lines[place["file"]][place["line"] - 1].strip() for place in places}
    return found


@pytest.mark.parametrize("in_base", [False, True])
def test_the_line_of_an_environment_that_sets_a_related_value(tmp_path: Path, in_base: bool) -> None:
    shared = f"{BODY}  processes: 4\n{GPU_PARAMS}{PARAM_GPUS}"
    if in_base:
        (tmp_path / "base.yaml").write_text(HEAD.replace("JobProfile", "JobProfileBase") + shared)
        shared = "  extends: [base.yaml]\n"
    (tmp_path / "job.yaml").write_text(HEAD + shared + ENVIRONMENTS)
    [named] = list_lines(tmp_path, "DIST001").values()
    assert {"processes: 4", PARAM_GPUS.strip(), "prod: {values: {gpus: 8}}"} <= named
    assert ("extends: [base.yaml]" in named) is in_base


def test_the_default_of_a_param_and_the_axis_of_a_matrix(tmp_path: Path) -> None:
    params = "  params: {processes: {type: integer, default: 4}}\n"
    text = f"{HEAD}{BODY}  processes: ${{{{ params.processes }}}}\n{params}{LITERAL_GPUS}"
    (tmp_path / "job.yaml").write_text(text)
    [named] = list_lines(tmp_path, "DIST001").values()
    assert {params.strip(), "processes: ${{ params.processes }}", LITERAL_GPUS.strip()} <= named
    axes = "  matrix: {axes: {processes: [2, 8]}}\n"
    (tmp_path / "job.yaml").write_text(text.replace(params, axes).replace("params.", "matrix."))
    [named] = list_lines(tmp_path, "DIST001").values()
    assert axes.strip() in named


def test_the_variants_that_have_a_finding_are_named(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(f"{HEAD}{BODY}  processes: 4\n{GPU_PARAMS}{PARAM_GPUS}{ENVIRONMENTS}")
    page = json.loads(podplan("check", "--format", "json", ".", cwd=tmp_path).out)
    [finding] = [one for one in page["findings"] if one["rule"] == "DIST001"]
    assert finding["instances"] == {"hit": 1, "of": 3, "ids": ["prod"]}
