"""docs/cache.md: its commands print what it shows, and its numbers are those of the code."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from podplan.cli import check_cache
from podplan.workspace.dependencies import MIN_FILES_FOR_CACHE
from tests.command import JOB, podplan

PAGE = (Path(__file__).parents[1] / "docs/cache.md").read_text()
CONSOLE = re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path / "repository"
    (top / "jobs").mkdir(parents=True)
    for number in range(12):
        (top / "jobs" / f"job{number}.yaml").write_text(JOB.replace("name: count", f"name: count-{number}"))
    monkeypatch.delenv(check_cache.DISABLE_VARIABLE)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return top


def test_what_it_shows(tree: Path) -> None:
    (block,) = CONSOLE
    lines = []
    for command in re.findall(r"^\$ podplan (.*)$", block, re.MULTILINE):
        run = podplan(*command.split(), cwd=tree)
        lines.append(f"$ podplan {command}\n{run.out}{run.err}")
    assert "".join(lines) == block
    assert len(list((tree.parent / "cache" / "podplan").iterdir())) == 1


def test_its_commands(tree: Path) -> None:
    elsewhere = tree.parent / "elsewhere"
    for command in COMMANDS:
        name, *arguments = shlex.split(command.replace("/tmp/podplan", str(elsewhere)))
        assert name == "podplan"
        run = podplan(*arguments, cwd=tree)
        assert run.code == 0, run.err
        if "clean" not in arguments:
            assert bool(os.listdir(elsewhere)) == ("--no-cache" not in arguments or elsewhere.exists())
    assert os.listdir(elsewhere) == []
    assert not (tree.parent / "cache").exists()


def test_its_numbers() -> None:
    assert f"fewer than {MIN_FILES_FOR_CACHE} files" in PAGE
    assert f"at most {check_cache.MAX_ENTRIES}, of {check_cache.MAX_BYTES // 2**20} MB together" in PAGE
    for name in (check_cache.DISABLE_VARIABLE, check_cache.FOLDER_VARIABLE):
        assert name in PAGE


def test_cleaning_counts(tree: Path) -> None:
    podplan("check", "jobs", cwd=tree)
    assert podplan("clean", cwd=tree).err == "1 entry removed\n"
    assert podplan("clean", cwd=tree).err == "0 entries removed\n"
