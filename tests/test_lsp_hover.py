"""Hover over a profile field: the values that other places give it, with these places."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editor import Editor

PROJECT = Path(__file__).parent.parent / "fixtures" / "lsp" / "project"
PROFILE, BASE = "jobs/bert.yaml", "bases/training.yaml"


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    folder = tmp_path / "work"
    shutil.copytree(PROJECT, folder)
    (folder / ".git").mkdir()
    base = folder / BASE
    base.write_text(base.read_text() + "  replicas: 2\n  env: {API_TOKEN: plain, LEVEL: low}\n")
    with Editor(folder) as editor:
        editor.start()
        yield editor


def hover(editor: Editor, name: str, word: str) -> str:
    """Return what hovering over a word shows, without what it shows of the CR."""
    editor.open(name)
    text = (editor.folder / name).read_text()
    at = text.index(word)
    line, column = text.count("\n", 0, at), at - text.rfind("\n", 0, at) - 1
    answer = editor.request("textDocument/hover", editor.at(name, line, column + 1))
    shown: str = answer["contents"]["value"] if answer else ""
    return shown.partition("\n\noverridden:\n")[2].partition("\n\n")[0]


def test_a_field_shows_the_value_and_the_line_of_an_environment(editor: Editor) -> None:
    assert hover(editor, PROFILE, "replicas: 32") == "- dev: `1`, from line 17"
    assert hover(editor, PROFILE, "h100x8") == '- dev: `"a10x1"`, from line 17'


def test_a_field_that_nothing_overrides_shows_none(editor: Editor) -> None:
    assert hover(editor, PROFILE, "launcher: ") == ""
    assert hover(editor, PROFILE, "replicas: 1,") == ""


def test_a_field_of_a_base_shows_the_values_of_the_profiles(editor: Editor) -> None:
    job = f"`{PROFILE}"
    assert hover(editor, BASE, "replicas: 2") == (
        f"- bert as written: `32`, from {job}:12`\n- bert dev: `1`, from {job}:17`"
    )
    assert hover(editor, BASE, "research") == f'- bert dev: `"debug"`, from {job}:17`'


def test_the_value_of_a_secret_is_not_shown(editor: Editor) -> None:
    profile = editor.folder / PROFILE
    profile.write_text(profile.read_text().replace('RANK: "0"', "API_TOKEN: hunter2hunter2, LEVEL: high"))
    assert hover(editor, BASE, "LEVEL") == f'- bert as written, bert dev: `"high"`, from `{PROFILE}:14`'
    assert "hunter2" not in hover(editor, BASE, "API_TOKEN")
