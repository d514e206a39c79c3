"""What is said of a profile as a whole: bases, params, instances; with real files and several variants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podplan.checker.check import check_files
from podplan.core.findings import Finding
from podplan.lint.registry import load_builtin_policies
from podplan.pipeline import PipelineSettings
from podplan.report.full import render
from podplan.workspace.loader import Loader

BASE = "apiVersion: podplan/v1\nkind: JobProfileBase\nspec:\n"
PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: train}
spec:
  job: PyTorchTrainingJob
  image: registry.example.com/train:1.0
  run: [train.py, "--lr=${{ params.lr }}"]
  launcher: torchrun
  processes: 1
  resources: {limits: {memory: 8Gi}}
"""


def found(folder: Path, code: str, **settings: Any) -> list[Finding]:
    """What one rule says of the files of a folder."""
    (folder / ".git").mkdir(exist_ok=True)
    rules = tuple(policy for policy in load_builtin_policies() if policy.rule.code == code)
    assert rules, code
    said = check_files([str(folder)], PipelineSettings(policies=rules, **settings), Loader()).findings
    return [finding for finding in said if finding.rule == code]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A profile over a base that gives the param and the replicas, and one that gives only a deadline."""
    (tmp_path / "base.yaml").write_text(
        BASE + "  params: {lr: {type: number, default: 0.1}}\n  replicas: 2\n", encoding="utf-8"
    )
    (tmp_path / "late.yaml").write_text(BASE + "  deadline: 48h\n", encoding="utf-8")
    return tmp_path


def write(folder: Path, more: str) -> None:
    (folder / "train.yaml").write_text(PROFILE + more, encoding="utf-8")


def test_a_base_is_used_where_one_environment_has_something_of_it(folder: Path) -> None:
    write(folder, "  extends: [base.yaml, late.yaml]\n  environments: {dev: {deadline: 1h}}\n")
    assert found(folder, "PROF101") == []


def test_a_base_is_unused_where_the_profile_replaces_all_of_it(folder: Path) -> None:
    more = "  extends: [base.yaml, late.yaml]\n  deadline: 2h\n  environments: {dev: {deadline: 1h}}\n"
    write(folder, more)
    [finding] = found(folder, "PROF101")
    assert finding.location.path == ("spec", "extends", 1)
    assert finding.instances is not None
    assert (finding.instances.hit, finding.instances.of) == (2, 2)


def test_nothing_is_said_of_the_whole_where_only_a_part_is_seen(folder: Path) -> None:
    write(
        folder, "  extends: [base.yaml, late.yaml]\n  deadline: 2h\n  environments: {dev: {deadline: 1h}}\n"
    )
    assert found(folder, "PROF101", environments=("dev",)) == []


def test_a_param_of_a_base_that_nothing_reads_is_not_said_of_the_profile(folder: Path) -> None:
    write(folder, "  extends: [base.yaml]\n  params: {epochs: {type: integer, default: 1}}\n")
    assert [finding.message for finding in found(folder, "PROF100")] == [
        "no expression reads the param epochs"
    ]


def test_a_param_that_only_the_base_reads_is_read(folder: Path) -> None:
    (folder / "base.yaml").write_text(BASE + "  replicas: ${{ params.nodes }}\n", encoding="utf-8")
    more = "  params: {lr: {default: 0.1}, nodes: {type: integer, default: 2}}\n"
    write(folder, f"  extends: [base.yaml]\n{more}")
    assert found(folder, "PROF100") == []


def test_what_repeats_a_base_points_at_both_files(folder: Path) -> None:
    write(folder, "  extends: [base.yaml]\n  replicas: 2\n")
    [finding] = found(folder, "PROF102")
    assert Path(finding.location.file).name == "train.yaml"
    assert {Path(one.location.file).name for one in finding.related} == {"base.yaml"}


def test_equal_instances_are_found_within_an_environment(folder: Path) -> None:
    more = "  extends: [base.yaml]\n  matrix: {axes: {lr: [0.1, 0.2], try: [1, 2]}}\n"
    write(folder, f"{more}  environments: {{dev: {{replicas: 1}}}}\n")
    [finding] = found(folder, "PROF106")
    assert "train-lr-0-1-try-1 and train-lr-0-1-try-2 differ only in the name" in finding.message


def test_the_value_of_a_secret_is_nowhere_in_what_is_said(folder: Path) -> None:
    write(folder, "  extends: [base.yaml]\n  env: {HF_TOKEN: hf_0123456789}\n")
    rules = tuple(policy for policy in load_builtin_policies() if policy.rule.code == "PROF107")
    result = check_files([str(folder)], PipelineSettings(policies=rules), Loader())
    shown = render(result)
    assert "PROF107" in shown
    assert "HF_TOKEN: *************}" in shown
    assert "hf_0123456789" not in shown
