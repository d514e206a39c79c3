"""docs/diff.md: every command in it prints what stands there; --regen-all writes it anew."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests.command import podplan
from tests.git import commit, git_in
from tests.test_diff import FIXTURES, repository

PAGE = Path(__file__).parents[1] / "docs/diff.md"
BLOCK = re.compile(r"^```console\n\$ podplan (.*)\n(?:.*\n)*?```$", re.MULTILINE)
MAX_LINES = 28


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The repository that the page is about: on a branch of main, an image in a base is another."""
    repository(FIXTURES / "diff/image_in_a_base", tmp_path)
    git = git_in(tmp_path)
    git("checkout", "-q", "-b", "topic")
    commit(git, "another image")
    return tmp_path


def test_every_command_prints_what_stands_there(folder: Path, file_regression: FileRegressionFixture) -> None:
    text = PAGE.read_text(encoding="utf-8")

    def said(block: re.Match[str]) -> str:
        run = podplan(*block[1].split(), cwd=folder)
        assert (run.code, run.err) == (0, "")
        lines = run.out.splitlines()
        shown = lines if len(lines) <= MAX_LINES else [*lines[:MAX_LINES], "  …"]
        return "\n".join([f"```console\n$ podplan {block[1]}", *shown, "```"])

    file_regression.check(BLOCK.sub(said, text), fullpath=PAGE, encoding="utf-8", newline="")


def test_every_way_to_compare_is_one(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    git = git_in(folder)
    git("tag", "v1", "main")
    git("tag", "v2", "topic")
    folders = tmp_path_factory.mktemp("folders")
    for name in ("old", "new"):
        shutil.copytree(FIXTURES / "diff/image_in_a_base/base", folders / name)
        (folders / name / ".git").mkdir()
    table = PAGE.read_text(encoding="utf-8").partition("## What is compared")[2].partition("PATHs")[0]
    commands = re.findall(r"^\| `podplan (.*?)` \|", table, re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        run = podplan(*command.split(), "--exit-code", cwd=folders if "--base-tree" in command else folder)
        assert run.code in (0, 1), run.err
        assert "→" in run.out


def test_the_step_of_the_workflow(folder: Path) -> None:
    step = re.search(r"- run: podplan (.*) >> ", PAGE.read_text(encoding="utf-8"))
    assert step is not None
    run = podplan(*step[1].split(), cwd=folder)
    assert run.code == 0
    assert run.out.startswith("### podplan diff: HEAD^1")
