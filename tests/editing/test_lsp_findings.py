"""Findings as an editor gets them: of open texts, bases and inventories, once nobody types."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.editing.project import BASE, INVENTORY, JOB, codes
from tests.editor import Editor


def test_findings_come_once_nobody_types(project: Path) -> None:
    job = (project / JOB).read_text()
    with Editor(project) as editor:
        editor.start()
        editor.open(JOB)
        for version in range(2, 12):
            editor.change(JOB, job.replace("processes: 4", f"processes: {version}"), version)
        editor.diagnostics(JOB)
        assert not [note for note in editor.notes if note["method"] == "textDocument/publishDiagnostics"]
        assert editor.end() == (0, "")


def test_open_texts_take_the_place_of_files(project: Path) -> None:
    with Editor(project) as editor:
        editor.start()
        editor.open(JOB)
        assert codes(editor.diagnostics(JOB)) == ["DIST001", "CR009"]
        inventory = (project / INVENTORY).read_text()
        editor.open(INVENTORY, inventory.replace("{nvidia.com/gpu: 8}", "{nvidia.com/gpu: 4}"))
        assert codes(editor.diagnostics(JOB)) == ["CR009"]
        editor.notify("textDocument/didClose", {"textDocument": {"uri": editor.uri(INVENTORY)}})
        assert codes(editor.diagnostics(JOB)) == ["DIST001", "CR009"]
        assert editor.end() == (0, "")


def test_a_base_is_checked_through_profiles_that_are_not_open(project: Path) -> None:
    with Editor(project) as editor:
        editor.start()
        base = (project / BASE).read_text()
        editor.open(BASE, base + "  env: {WORLD_SIZE: '1'}\n")
        [found] = editor.diagnostics(BASE)
        assert found["code"] == "CR009"
        assert found["range"]["start"] == {"line": 5, "character": 20}
        assert "DIST001" in codes(editor.diagnostics(JOB))
        editor.change(BASE, base)
        assert editor.diagnostics(BASE) == []
        assert editor.end() == (0, "")


def test_findings_go_away_with_the_file(project: Path) -> None:
    with Editor(project) as editor:
        editor.start()
        editor.open(JOB)
        assert editor.diagnostics(JOB)
        editor.notify("textDocument/didClose", {"textDocument": {"uri": editor.uri(JOB)}})
        assert editor.diagnostics(JOB) == []
        assert editor.end() == (0, "")


def test_a_wrong_configuration_is_told_at_the_top(project: Path) -> None:
    (project / "podplan.toml").write_text('fail-on = "sometimes"\n')
    with Editor(project) as editor:
        editor.start()
        editor.open(JOB)
        [told] = editor.diagnostics(JOB)
        assert "podplan.toml:1" in told["message"]
        assert editor.request("textDocument/completion", editor.at(JOB, 11, 2))["items"]
        (project / "podplan.toml").write_text('select = ["CR009"]\ninventory = "clusters/main.yaml"\n')
        editor.notify("textDocument/didSave", {"textDocument": {"uri": editor.uri(JOB)}})
        assert codes(editor.diagnostics(JOB)) == ["CR009"]
        assert editor.end() == (0, "")


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 36), ("utf-16", 30), ("utf-32", 29)])
def test_columns_after_an_emoji_are_in_the_encoding_of_the_editor(
    project: Path, encoding: str, character: int
) -> None:
    with Editor(project) as editor:
        assert editor.start([encoding])["capabilities"]["positionEncoding"] == encoding
        editor.open(JOB)
        found = editor.diagnostics(JOB)[1]
        assert found["range"]["start"] == {"line": 13, "character": character}
        hover = editor.request("textDocument/hover", editor.at(JOB, 13, character))
        assert "spec.env.RANK" in hover["contents"]["value"]
        assert editor.end() == (0, "")
