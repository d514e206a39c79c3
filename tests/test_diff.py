"""podplan diff: what it prints for the cases below fixtures/diff, byte for byte, and what holds for any two trees."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from podplan.cli.diff import compared
from podplan.diff import Diff
from podplan.diff.model import ABSENT, LEVELS, Level
from podplan.report import diff_json, diff_markdown, diff_text
from tests.test_revisions import commit, git_in

CASES = sorted((Path(__file__).parents[1] / "fixtures/diff").iterdir())
Between = Callable[[Path, Path], None]


def _repository(case: Path, folder: Path, base: str = "base", head: str = "head") -> None:
    """A repository whose last commit has one side of a case, and whose work tree has the other."""
    git = git_in(folder)
    git("init", "-q", "-b", "main")
    shutil.copytree(case / base, folder, dirs_exist_ok=True)
    commit(git, "base")
    for path in folder.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(case / head, folder, dirs_exist_ok=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    _repository(case, tmp_path)
    monkeypatch.chdir(tmp_path)
    found = compared(())
    for name, text in (
        ("diff.txt", "".join(_levels(found))),
        ("diff.md", diff_markdown.render(found)),
        ("diff.json", diff_json.render(found)),
    ):
        file_regression.check(text, fullpath=case / name, encoding="utf-8", newline="")


def _levels(found: Diff) -> list[str]:
    """What the levels print; of those below the first only where they differ in more than the path."""
    return [diff_text.render(found)]
