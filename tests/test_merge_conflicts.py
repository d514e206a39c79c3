"""Files with merge conflict markers: one finding or one sentence that says so, and no cascade."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import PROFILE, podplan

MARKERS = "<<<<<<< HEAD\n{}=======\n{}>>>>>>> feature\n"
CONFLICT = MARKERS.format("  replicas: 2\n", "  replicas: 4\n")
SAID = "this file has an unresolved merge conflict in lines {}, so nothing in it can be read; keep one side"


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_profile_with_conflicts_has_one_finding_that_nothing_turns_off() -> None:
    Path("a.yaml").write_text(f"{PROFILE}{CONFLICT}  shm: 1Gi\n{CONFLICT}")
    run = podplan("check", "--format", "concise", "--ignore", "YAML", "a.yaml")
    assert run.code == 1
    assert [line.split(" ")[:3] for line in run.out.splitlines()[:-1]] == [
        ["a.yaml:9:1:", "error", "YAML013"]
    ]
    assert "2 unresolved merge conflicts, the first in lines 9 to 13" in run.out


@pytest.mark.parametrize("command", ["fmt", "render", "lower", "migrate"])
def test_commands_that_write_refuse_the_file(command: str) -> None:
    text = PROFILE + CONFLICT
    Path("a.yaml").write_text(text)
    run = podplan(command, "a.yaml")
    assert run.code == 1
    assert "YAML013" in run.err
    assert Path("a.yaml").read_text() == text


def test_a_base_with_a_conflict() -> None:
    Path("base.yaml").write_text("apiVersion: podplan/v1\nkind: JobProfileBase\nspec:\n" + CONFLICT)
    Path("a.yaml").write_text(PROFILE.replace("spec:\n", "spec:\n  extends: [base.yaml]\n"))
    run = podplan("check", "--format", "concise", "a.yaml")
    assert 'cannot extend "base.yaml": line 4: this file has an unresolved merge conflict' in run.out


@pytest.mark.parametrize(
    ("name", "head", "command"),
    [
        ("podplan.toml", "", ["check", "a.yaml"]),
        ("pyproject.toml", "[tool.podplan]\n", ["check", "a.yaml"]),
        ("podplan-baseline.json", "{\n", ["check", "--baseline", "podplan-baseline.json", "a.yaml"]),
    ],
)
def test_settings_with_a_conflict(name: str, head: str, command: list[str]) -> None:
    Path("a.yaml").write_text(PROFILE)
    Path(name).write_text(head + MARKERS.format('preset = "audit"\n', 'preset = "strict"\n'))
    run = podplan(*command)
    first = head.count("\n") + 1
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith(f"podplan: {name}:{first}: {SAID.format(f'{first} to {first + 4}')}")
