"""Pictures of cases to look at, and those of the documentation."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from tests.drawing.jobs import DRAWN, OWN, PICTURES, case_of
from tests.golden_cases import FIXTURES, copy, podplan

DOCS = FIXTURES.parent / "docs"


def printed(command: str) -> bytes:
    """What podplan prints in the gallery, as somebody who reads the page would run it."""
    line = [sys.executable, "-m", "podplan", *command.split()]
    return subprocess.run(line, cwd=FIXTURES / "gallery", capture_output=True, check=True).stdout


@pytest.mark.parametrize("suffix", ["svg", "mmd"])
@pytest.mark.parametrize("name", [*DRAWN, *OWN])
def test_golden(
    name: str,
    suffix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file_regression: FileRegressionFixture,
) -> None:
    case = case_of(name)
    copy(case.inputs, case.folder, tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    output = tmp_path / f"picture.{suffix}"
    done = podplan("graph", case.input, *case.arguments, "-o", str(output))
    assert (done.code, done.out, done.err) == (0, "", "")
    golden = PICTURES / name / output.name
    golden.parent.mkdir(exist_ok=True)
    file_regression.check(output.read_text(encoding="utf-8"), fullpath=golden, encoding="utf-8", newline="")


def test_every_golden_is_made_by_a_case() -> None:
    assert sorted(folder.name for folder in PICTURES.iterdir()) == sorted([*DRAWN, *OWN])


def test_the_picture_of_the_documentation_is_what_its_command_draws() -> None:
    text = (DOCS / "graph.md").read_text()
    [command] = re.findall(r"^\$ podplan (graph .*) -o graph\.svg$", text, re.MULTILINE)
    assert "![" in text
    assert "](graph.svg)" in text
    assert printed(command) == (DOCS / "graph.svg").read_bytes()


def test_the_mermaid_of_the_documentation_is_what_its_command_draws() -> None:
    text = (DOCS / "graph.md").read_text()
    [command] = re.findall(r"^\$ podplan (graph .*--format mermaid)$", text, re.MULTILINE)
    [shown] = re.findall(r"^```mermaid\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert printed(command).decode() == shown


@pytest.mark.long
def test_another_hash_seed_gives_the_same_bytes() -> None:
    folder = PICTURES / "three_types"
    bytes_ = set()
    for seed in ("0", "1", "2"):
        done = subprocess.run(
            [sys.executable, "-m", "podplan", "graph", "cr.yaml"],
            cwd=folder,
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "LC_ALL": "C", "PATH": ""},
        )
        bytes_.add(done.stdout)
    assert bytes_ == {(folder / "picture.svg").read_bytes()}
