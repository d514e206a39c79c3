"""A session with an editor from initialize to exit, as recorded in fixtures/lsp/session.txt."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

import podplan
from tests.editor import Editor, Message

FIXTURES = Path(__file__).parent.parent / "fixtures" / "lsp"
JOB, BASE = "jobs/bert.yaml", "bases/training.yaml"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    shutil.copytree(FIXTURES / "project", folder)
    (folder / ".git").mkdir()
    return folder


class Recorder(Editor):
    """An editor that writes down what is said, with the folder as /work."""

    def __init__(self, folder: Path) -> None:
        self.record: list[str] = []
        super().__init__(folder)

    def write(self, content: bytes) -> None:
        self._note("→", json.loads(content.partition(b"\r\n\r\n")[2]))
        super().write(content)

    def next(self) -> Message:
        message = super().next()
        self._note("←", message)
        return message

    def _note(self, sign: str, message: Any) -> None:
        text = json.dumps(message, ensure_ascii=False).replace(self.folder.resolve().as_uri(), "file:///work")
        self.record.append(f"{sign} {text.replace(podplan.__version__, 'VERSION')}\n")

    def ask(self, about: str, name: str, text: str, word: str, ahead: int = 0) -> Any:
        """A request at the place where a word stands, or ``ahead`` UTF-16 units after its beginning."""
        at = text.index(word)
        start = text.rfind("\n", 0, at) + 1
        units = len(text[start:at].encode("utf-16-le")) // 2
        place = self.at(name, text.count("\n", 0, at), units + ahead)
        return self.request(f"textDocument/{about}", place)


def test_a_session_goes_as_it_is_recorded(project: Path, file_regression: FileRegressionFixture) -> None:
    job = (project / JOB).read_text()
    with Recorder(project) as editor:
        editor.start()
        editor.open(JOB)
        editor.diagnostics(JOB)
        for word in ("replicas: 32", "processes: 4", "h100x8", "dev:", "params.seed"):
            editor.ask("hover", JOB, job, word, 1)
        for word in ("h100x8", "../bases", "params.seed", "params.epochs", "epochs: 1", "debug"):
            editor.ask("definition", JOB, job, word, 3)
        editor.request(
            "textDocument/codeAction",
            {
                "textDocument": {"uri": editor.uri(JOB)},
                "range": {"start": {"line": 8, "character": 0}, "end": {"line": 14, "character": 0}},
                "context": {"diagnostics": []},
            },
        )
        editor.request("textDocument/documentSymbol", {"textDocument": {"uri": editor.uri(JOB)}})
        broken = job.replace("  hardware: h100x8\n", "  hardware: {\n  schedule: {queue: \n")
        editor.change(JOB, broken, 2)
        editor.diagnostics(JOB)
        editor.ask("completion", JOB, broken, "{queue: \n", len("{queue: "))
        begun = job.replace("h100x8", "").replace("launcher: torchrun", "laun")
        editor.change(JOB, begun, 3)
        editor.diagnostics(JOB)
        editor.ask("completion", JOB, begun, "hardware: \n", len("hardware: "))
        editor.ask("completion", JOB, begun, "laun\n", len("laun"))
        editor.change(JOB, job, 4)
        editor.diagnostics(JOB)
        base = (project / BASE).read_text()
        editor.open(BASE, base + "  env: {WORLD_SIZE: '1'}\n")
        editor.diagnostics(BASE)
        editor.notify("textDocument/didClose", {"textDocument": {"uri": editor.uri(BASE)}})
        editor.diagnostics(JOB)
        editor.request("shutdown")
        editor.notify("exit")
        assert editor.wait() == (0, "")
    file_regression.check(
        "".join(editor.record), encoding="utf-8", newline="\n", fullpath=FIXTURES / "session.txt"
    )
