"""Paths that documents give and that no file can have: the document is at fault, and podplan is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from podplan.lint.baseline import DEFAULT_FILE
from tests.command import JOB as CR
from tests.command import PROFILE, podplan
from tests.editor import Editor

EXTENDING = PROFILE.replace("spec:", 'spec:\n  extends: ["a\\0b"]')
COMMANDS = {
    "check": ("check", "job.yaml"),
    "check of a folder": ("check", "."),
    "check --jobs": ("check", "--jobs", "2", "."),
    "check --affected-by": ("check", "--affected-by", "job.yaml", "."),
    "check --fix": ("check", "--fix", "."),
    "render": ("render", "job.yaml"),
    "lower": ("lower", "job.yaml"),
    "graph": ("graph", "job.yaml"),
    "why": ("why", "job.yaml", "spec"),
    "cmp": ("cmp", "generate"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "job.yaml").write_text(EXTENDING)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_base_with_a_null_character_is_a_finding_at_its_line(folder: Path, command: str) -> None:
    run = podplan(*COMMANDS[command], cwd=folder)
    assert run.code == 1
    assert "PROF002" in run.out + run.err
    assert r'cannot extend "a\x00b": a path has no null character (\u0000)' in run.out + run.err


def test_a_baseline_knows_it(folder: Path) -> None:
    assert podplan("baseline", "create", ".", cwd=folder).code == 0
    run = podplan("check", "--baseline", DEFAULT_FILE, ".", cwd=folder)
    assert run.code == 0
    assert "1 suppressed" in run.out


@pytest.mark.parametrize("word", [r"$'jobs/\u0000.yaml'", r"$'jobs/\ud800.yaml'", r"$'\u0000'"])
def test_a_header_that_names_no_file_is_none(tmp_path: Path, word: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "profile.yaml").write_text(PROFILE)
    (tmp_path / "cr.yaml").write_text(CR)
    as_written = [podplan(*command, cwd=tmp_path) for command in (("check", "."), ("cmp", "generate"))]
    (tmp_path / "cr.yaml").write_text(f"# podplan: rendered from {word} -e dev\n{CR}")
    run, handed = [podplan(*command, cwd=tmp_path) for command in (("check", "."), ("cmp", "generate"))]
    assert "rendered CR" not in run.out
    assert (run.code, run.out.splitlines()[-1]) == (as_written[0].code, as_written[0].out.splitlines()[-1])
    assert (handed.code, handed.err) == (as_written[1].code, as_written[1].err)


def test_an_editor_gets_answers(folder: Path) -> None:
    (folder / "base.yaml").write_text("apiVersion: podplan/v1\nkind: JobProfileBase\nspec: {replicas: 1}\n")
    with Editor(folder) as editor:
        editor.start()
        editor.open("job.yaml")
        assert [one["code"] for one in editor.diagnostics("job.yaml")] == ["PROF002"]
        editor.open("base.yaml")  # it is checked through the files that extend it, which are looked for
        assert editor.diagnostics("base.yaml") == []
        line = EXTENDING.splitlines().index('  extends: ["a\\0b"]')
        assert editor.request("textDocument/definition", editor.at("job.yaml", line, 14)) is None
        assert editor.end() == (0, "")
