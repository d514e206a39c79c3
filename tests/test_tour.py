"""docs/tour.md has the output of its commands; --force-regen writes it anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from podplan.cli.init import EXAMPLES, STARTER_FOLDER
from podplan.tools.formatter import format_source
from podplan.yaml import parse_yaml
from tests import transcripts
from tests.command import podplan

PAGE = Path(__file__).parents[1] / "docs" / "tour.md"


@pytest.mark.long
def test_the_tour_has_the_output_of_its_commands(
    tmp_path: Path, file_regression: FileRegressionFixture
) -> None:
    page = transcripts.rerun(PAGE.read_text("utf-8"), tmp_path)
    file_regression.check(page, fullpath=PAGE, encoding="utf-8", newline="")


def test_the_tour_visits_each_example() -> None:
    page = PAGE.read_text("utf-8")
    assert {name for name in EXAMPLES if f"podplan init --example {name} " in page} == set(EXAMPLES)
    assert {path.name for path in (STARTER_FOLDER / "examples").iterdir()} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_walk_goes_from_the_mistake_to_the_plan(name: str) -> None:
    walk = PAGE.read_text("utf-8").partition(f"$ podplan init --example {name} ")[2].partition("\n## ")[0]
    commands = [line for line in walk.splitlines() if line.startswith("$ ")]
    for command in ("check", "why", "graph", "diff", "plan"):
        assert any(line.startswith(f"$ podplan {command}") for line in commands), command
    assert any(line.startswith(("$ sed -i", "$ podplan check --fix")) for line in commands), "the fix"


def test_profiles_of_examples_are_formatted() -> None:
    for path in (STARTER_FOLDER / "examples" / "t9k").rglob("*.yaml"):
        text = path.read_text("utf-8")
        assert format_source(parse_yaml(text.encode(), path.name)) == text, path


def test_an_example_is_not_written_over_files(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "cfd.yaml").write_text("mine")
    run = podplan("init", "--example", "mpi", str(tmp_path))
    assert run.code == 2
    assert "is there already" in run.err
    assert [path.name for path in tmp_path.rglob("*")] == ["jobs", "cfd.yaml"]
