"""What check says of queues and namespaces, by objects of the repository: one situation in each file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests.command import podplan

FIXTURES = Path(__file__).parents[1] / "fixtures" / "kueue" / "rules"
RULES = "SCHED07,SCHED08,SCHED09,SEC,NET002,GIT070,SCHEMA"


def list_findings(file: Path) -> list[str]:
    """Check one file in a repository of its own; return its findings as lines."""
    shown = podplan(
        "check", "--isolated", "--no-cache", "--preset", "default", "--select", RULES, "--format", "json", "."
    )
    lines = [
        f"{file.name}:{one['line']}: {one['severity']} {one['rule']}: {one['message']}"
        for one in json.loads(shown.out)["findings"]
        if one["severity"] != "info" or one["rule"].startswith("SCHED")
    ]
    return lines or [f"{file.name}: nothing"]


def test_golden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    lines: list[str] = []
    files = sorted(FIXTURES.glob("*.yaml"))
    assert len(files) >= 40
    for file in files:
        folder = tmp_path / file.stem
        (folder / ".git").mkdir(parents=True)
        shutil.copy(file, folder)
        monkeypatch.chdir(folder)
        lines += list_findings(file)
    golden = FIXTURES.parent / "rules.txt"
    file_regression.check("\n".join(lines) + "\n", fullpath=golden, encoding="utf-8", newline="")
