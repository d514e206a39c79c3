"""podplan init --kind: a first profile of each kind that compiles and has no mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import podplan as podplan_package
from podplan.kinds.registry import COMPILED_KINDS
from tests.command import podplan
from tests.thoroughness import mark_others

STARTER = Path(podplan_package.__file__).parent / "starter" / "job.yaml"


@pytest.mark.parametrize("kind", mark_others(COMPILED_KINDS, every=3))
def test_a_first_profile_of_a_kind_has_no_mistake(tmp_path: Path, kind: str) -> None:
    (tmp_path / ".git").mkdir()
    assert podplan("init", "--kind", kind, ".", cwd=tmp_path).code == 0
    found = json.loads(podplan("check", "--no-cache", "--format", "json", "jobs", cwd=tmp_path).out)
    rules = [one["rule"] for one in found["findings"] if one["severity"] != "info"]
    assert rules == (["GEN005"] if kind == "GenericJob" else [])
    assert podplan("fmt", "--check", "jobs", cwd=tmp_path).code == 0
    rendered = podplan("render", "-e", "prod", "jobs/resnet.yaml", cwd=tmp_path)
    assert f"kind: {kind.rpartition('/')[2]}" in rendered.out


def test_without_a_kind_the_profile_is_that_of_the_starter(tmp_path: Path) -> None:
    podplan("init", ".", cwd=tmp_path)
    assert (tmp_path / "jobs" / "resnet.yaml").read_text("utf-8") == STARTER.read_text("utf-8")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("PyTorchJobs", 'no profile compiles to a kind "PyTorchJobs"; did you mean "PyTorchJob"?'),
        ("TrainingRuntime", 'no profile compiles to a kind "TrainingRuntime"'),
    ],
)
def test_another_kind_is_refused(tmp_path: Path, kind: str, message: str) -> None:
    said = podplan("init", "--kind", kind, ".", cwd=tmp_path)
    assert said.code == 2
    assert message in said.err
    assert not (tmp_path / "jobs").exists()
