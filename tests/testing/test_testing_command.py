"""podplan test as a command: what it counts, asks for, and says where there is nothing to test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.command import podplan
from tests.testing.repository import edit


def test_all_pass(folder: Path) -> None:
    run = podplan("test", cwd=folder)
    assert (run.code, run.err) == (0, "")
    assert run.out == "3 tests, no failures, 1 of 1 policies tested, 1 of 1 profiles tested\n"


def test_required_tests_and_coverage(folder: Path) -> None:
    assert podplan("test", "--require-tests", cwd=folder).code == 0
    (folder / "jobs" / "a.golden.yaml").unlink()
    edit(folder / "rules" / "own.yaml", "verdict: good", "verdict: near")
    assert podplan("test", cwd=folder).code == 0
    run = podplan("test", "--require-tests", "--coverage", cwd=folder)
    assert run.code == 1
    assert run.out.splitlines()[:4] == [
        "rules/own.yaml:1:1: ORG001: the policy has no good example",
        "jobs/a.yaml:1:1: resnet: the profile has no golden render; podplan test --update --all writes it",
        "policy ORG001 (rules/own.yaml): 1 bad, 1 near",
        "profile resnet (jobs/a.yaml): no golden render",
    ]


def test_json(folder: Path) -> None:
    edit(folder / "jobs" / "a.yaml", "replicas: 4", "replicas: 5")
    said: dict[str, Any] = json.loads(podplan("test", "--format", "json", "--coverage", cwd=folder).out)
    assert (said["format"], said["tests"], said["written"]) == (1, 3, [])
    assert [(one["file"], one["test"]) for one in said["failures"]] == [("jobs/a.golden.yaml", "golden")]
    assert "+    replicas: 5" in said["failures"][0]["diff"]
    assert [(one["name"], one["enough"]) for one in said["coverage"]] == [("ORG001", True), ("resnet", True)]


def test_paths_and_where_one_stands_make_no_difference(folder: Path) -> None:
    assert podplan("test", cwd=folder / "jobs").out == podplan("test", cwd=folder).out
    assert podplan("test", "a.golden.yaml", cwd=folder / "jobs").out.startswith("1 test, no failures")


def test_nothing_to_test_and_wrong_requests(folder: Path, tmp_path: Path) -> None:
    assert podplan("test", "--isolated", "rules", cwd=folder).code == 3
    assert podplan("test", "nowhere", cwd=folder).code == 3
    assert podplan("test", "--all", cwd=folder).code == 2
    (tmp_path / "podplan.toml").write_text('policies = ["nowhere"]\n')
    assert podplan("test", cwd=folder).code == 2
