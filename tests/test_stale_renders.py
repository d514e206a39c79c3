"""What is said of a rendered CR that is not what its profile renders: where, why, and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import ENVIRONMENTS, podplan

SAID = "job.yaml, which this was rendered from, no longer renders it"
HELP = "render again, or delete this file"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "job.yaml").write_text(ENVIRONMENTS)
    (tmp_path / "out.yaml").write_text(podplan("render", "job.yaml", "-e", "dev", cwd=tmp_path).out)
    return tmp_path


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def told(folder: Path) -> tuple[int, str, str]:
    """The line, the message and the help of the one finding of the rule."""
    run = podplan("check", "out.yaml", "--select", "GIT001", "--format", "json", cwd=folder)
    [found] = [one for one in json.loads(run.out)["findings"] if one["rule"] == "GIT001"]
    return found["line"], found["message"], found["help"]


def test_a_number_is_told_as_it_is_rendered(folder: Path) -> None:
    text = (folder / "out.yaml").read_text().splitlines()
    [line] = [number for number, one in enumerate(text, 1) if "replicas:" in one]
    now = text[line - 1].strip()
    edit(folder / "out.yaml", now, "replicas: 31")
    said = f"job.yaml renders something else now, here {now}; render it again instead of editing this file"
    assert told(folder)[:2] == (line, said)


def test_a_text_is_not_told_for_it_may_be_secret(folder: Path) -> None:
    edit(folder / "out.yaml", "train.py", "other.py")
    said = "job.yaml renders something else now; render it again instead of editing this file"
    assert told(folder)[1] == said


def test_an_environment_or_a_param_that_is_gone_is_named(folder: Path) -> None:
    edit(folder / "out.yaml", "-e dev", "-e nowhere")
    assert told(folder)[1].startswith(f'{SAID}: there is no environment "nowhere"; it has ')
    assert told(folder)[2] == HELP
    edit(folder / "out.yaml", "-e nowhere", "-e dev --set params.lost=1")
    assert told(folder)[1].startswith(f"{SAID}: --set params.lost=1: ")


def test_another_name_is_another_job(folder: Path) -> None:
    edit(folder / "out.yaml", "name: resnet", "name: bert")
    assert told(folder)[1:] == (SAID, HELP)


@pytest.mark.parametrize(
    ("new", "why"),
    [
        ('"${{ params.nope }}"', '${{ params.nope }}: there is no param "nope"; the profile has no params'),
        ("[", "line "),
    ],
)
def test_what_is_wrong_with_the_profile_is_said(folder: Path, new: str, why: str) -> None:
    edit(folder / "job.yaml", "train.py", new)
    assert told(folder)[1].startswith(f"{SAID}: {why}")
    assert told(folder)[2] == HELP
