"""Inputs of the action: paths are paths, and what is wrong is told in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import BAD_JOB, ENVIRONMENTS
from tests.github_action import run


@pytest.mark.parametrize(
    ("paths", "code"),
    [
        ("$(touch OWNED)\n`touch OWNED`\n; touch OWNED #\n'\n$(touch OWNED)\n'", 3),
        ("--output=json=OWNED\n--exit-zero", 3),
        ("-", 2),
        ("job.yaml\n--fix", 3),
        ("/dev/fd/0", 2),
        ("nothing/here", 3),
        ("\n\n  job.yaml \r\n", 0),
    ],
)
def test_paths_are_paths_and_nothing_else(workspace: Path, paths: str, code: int) -> None:
    ran = run(workspace, {"paths": paths})
    assert ran.steps[-1].code == code, ran.log
    assert sorted(path.name for path in workspace.iterdir()) == [".git", "job.yaml"]
    assert [one.properties for one in ran.of("error")] == ([{"title": "podplan"}] if code else [])


def test_a_file_that_is_named_like_an_option_is_checked(workspace: Path) -> None:
    (workspace / "--exit-zero").mkdir()
    (workspace / "--exit-zero" / "-e.yaml").write_text(BAD_JOB)
    ran = run(workspace, {"paths": "--exit-zero"})
    assert ran.steps[-1].code == 1
    assert ran.of("error")[0].properties["file"] == "--exit-zero/-e.yaml"


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"command": "chek"}, 'command: there is no "chek"; did you mean "check"?'),
        ({"command": "render"}, "command render wants output-dir"),
        ({"environment": "nowhere", "paths": "many.yaml"}, "nowhere"),
    ],
)
def test_a_wrong_input_is_one_sentence(workspace: Path, inputs: dict[str, str], said: str) -> None:
    (workspace / "many.yaml").write_text(ENVIRONMENTS)
    ran = run(workspace, inputs)
    assert ran.steps[-1].code == 2, ran.log
    [error] = ran.of("error")
    assert said in error.data
    assert ran.outputs["findings"] == ""


def test_an_input_that_is_not_there_is_warned_of(workspace: Path) -> None:
    assert run(workspace, {"path": "job.yaml"}).warnings == ("unexpected input path",)
