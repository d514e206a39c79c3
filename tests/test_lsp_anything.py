"""Whatever is typed and wherever somebody asks, the server answers, soon and without an internal error."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podplan.cli.lsp import resolve_file_settings
from podplan.integrations.lsp.framing import read_messages
from podplan.integrations.lsp.params import INTERNAL_ERROR, REQUEST_FAILED
from podplan.integrations.lsp.server import LanguageServer
from tests.thoroughness import examples

FIXTURES = Path(__file__).parent.parent / "fixtures" / "lsp" / "project"
FILES = ("jobs/bert.yaml", "bases/training.yaml", "jobs/count.yaml", "clusters/main.yaml")
PLACED = ("hover", "completion", "definition", "documentSymbol")
PREVIEWS = ("podplan/lower", "podplan/graph")  # refused with REQUEST_FAILED where there is no job
PIECES = (
    "{",
    "[",
    "- ",
    ": ",
    "\n",
    "\n  ",
    "${{ params.",
    "|",
    "&a ",
    "*a",
    "\t",
    "🚀",
    '"',
    "---\n",
    "<<: ",
    "",
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lsp") / "work"
    shutil.copytree(FIXTURES, folder)
    (folder / ".git").mkdir()
    return folder


def said(project: Path, name: str, text: str, line: int, character: int) -> list[Any]:
    """All that the server says to an editor that has a text and asks everything about a place in it."""
    out = io.BytesIO()
    server = LanguageServer(out, resolve_file_settings)
    document = {"uri": (project / name).as_uri(), "version": 1, "text": text}
    start, end = {"line": 0, "character": 0}, {"line": line + 1, "character": character}
    place = {"textDocument": document, "position": {"line": line, "character": character}}
    server.handle_message({"id": 0, "method": "initialize", "params": {}})
    server.handle_message({"method": "textDocument/didOpen", "params": {"textDocument": document}})
    for number, method in enumerate(PLACED, 1):
        server.handle_message({"id": number, "method": f"textDocument/{method}", "params": place})
    whole = {"textDocument": document, "range": {"start": start, "end": end}}
    server.handle_message({"id": 9, "method": "textDocument/codeAction", "params": whole})
    for number, method in enumerate(PREVIEWS, 10):
        server.handle_message({"id": number, "method": method, "params": whole})
    return list(read_messages(io.BytesIO(out.getvalue())))


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_no_text_and_no_place_is_too_odd(project: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(FILES))
    text = (project / name).read_text()
    at = data.draw(st.integers(0, len(text)))
    text = text[:at] + data.draw(st.sampled_from(PIECES)) + text[at + data.draw(st.integers(0, 8)) :]
    text = text[: data.draw(st.integers(at, len(text)))] if at <= len(text) else text
    line = data.draw(st.integers(0, text.count("\n") + 1))
    answers = said(project, name, text, line, data.draw(st.integers(0, 80)))
    assert [answer["id"] for answer in answers if "id" in answer] == [0, 1, 2, 3, 4, 9, 10, 11]
    wrong = [one for one in answers if "error" in one or one.get("method") == "window/logMessage"]
    wrong = [one for one in wrong if one.get("id", 0) < 10 or one["error"]["code"] != REQUEST_FAILED]
    assert not wrong, json.dumps(wrong)


def test_an_internal_error_would_be_seen(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podplan.integrations.lsp.hover.render_hover", lambda *_: 1 // 0)
    answers = said(project, FILES[0], "a: b", 0, 0)
    codes = [one["error"]["code"] for one in answers if "error" in one and one["id"] < 10]
    assert codes == [INTERNAL_ERROR]
