"""The server as an editor meets it: how it begins and ends, messages that are none, errors of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from podplan.core.limits import MAX_FILE_BYTES
from podplan.integrations.lsp.params import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    SERVER_NOT_INITIALIZED,
)
from tests.editing.project import CR, JOB, codes
from tests.editor import Editor, Message, framed


def test_it_ends_when_the_editor_hangs_up(project: Path) -> None:
    with Editor(project) as editor:
        editor.start()
        editor.open(JOB)
        editor.diagnostics(JOB)
        assert editor.hang_up() == (0, "")


def test_it_ends_when_there_is_nothing_on_standard_input(project: Path) -> None:
    with Editor(project) as editor:
        assert editor.hang_up() == (0, "")


def test_exit_without_shutdown_is_an_error(project: Path) -> None:
    with Editor(project) as editor:
        editor.start()
        editor.notify("exit")
        assert editor.wait() == (1, "")


def test_before_initialize_and_after_shutdown_nothing_is_done(project: Path) -> None:
    with Editor(project) as editor:
        early = editor.answer("textDocument/hover", editor.at(JOB, 0, 0))
        assert early["error"]["code"] == SERVER_NOT_INITIALIZED
        editor.start()
        again = editor.answer("initialize", {"capabilities": {}})
        assert again["error"]["code"] == INVALID_REQUEST
        editor.request("shutdown")
        late = editor.answer("textDocument/hover", editor.at(JOB, 0, 0))
        assert late["error"]["code"] == INVALID_REQUEST
        editor.notify("exit")
        assert editor.wait() == (0, "")


BAD_MESSAGES = {
    "no length": b"Garbage: 1\r\n\r\n{}",
    "no JSON": b"Content-Length: 5\r\n\r\n{{{{{",
    "too long": b"Content-Length: 99999999999999\r\n\r\n",
    "no object": b"Content-Length: 4\r\n\r\nnull",
    "too deep": b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000,
}


def test_a_bad_message_is_answered_and_the_next_one_heeded(project: Path) -> None:
    with Editor(project) as editor:
        editor.start()
        for name, bad in BAD_MESSAGES.items():
            editor.write(bad)
            answer = editor.next()
            assert (answer["id"], answer["error"]["code"]) == (None, PARSE_ERROR), name
            assert editor.request("textDocument/hover", editor.at(JOB, 0, 0)) is None, name
        editor.open(JOB)
        assert codes(editor.diagnostics(JOB)) == ["DIST001", "CR009"]
        assert editor.end() == (0, "")


def test_a_wrong_request_is_answered_with_its_error(project: Path) -> None:
    nowhere = {"textDocument": {"uri": ""}, "position": {"line": -1, "character": 0}}
    with Editor(project) as editor:
        editor.start()
        for method, params, code in (
            ("podplan/dance", {}, METHOD_NOT_FOUND),
            ("textDocument/hover", {}, INVALID_PARAMS),
            ("textDocument/hover", [1], INVALID_PARAMS),
            ("textDocument/hover", {"textDocument": {"uri": 3}, "position": {}}, INVALID_PARAMS),
            ("textDocument/completion", nowhere, INVALID_PARAMS),
            ("textDocument/codeAction", {"textDocument": {"uri": ""}, "range": None}, INVALID_PARAMS),
        ):
            assert editor.answer(method, params)["error"]["code"] == code, (method, params)
        assert editor.end() == (0, "")


def test_wrong_notifications_are_logged_or_passed_over(project: Path) -> None:
    with Editor(project) as editor:
        editor.start()
        editor.notify("textDocument/didOpen", {"textDocument": {"uri": 1}})
        assert editor.next()["method"] == "window/logMessage"
        editor.notify("$/unheard/of", None)
        editor.write(framed({"jsonrpc": "2.0", "id": 99, "result": None}))  # an answer that nobody waits for
        editor.write(framed({"jsonrpc": "2.0", "id": 98}))
        assert editor.next()["error"]["code"] == INVALID_REQUEST
        editor.notify(
            "textDocument/didChange", {"textDocument": {"uri": editor.uri(JOB)}, "contentChanges": []}
        )
        editor.notify("textDocument/didClose", {"textDocument": {"uri": "untitled:1"}})
        assert editor.request("textDocument/hover", editor.at("no.yaml", 3, 3)) is None
        assert editor.end() == (0, "")


def test_a_cancelled_request_is_not_worked_on(project: Path) -> None:
    with Editor(project) as editor:
        editor.start()
        cancel = framed({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "late"}})
        hover = {
            "jsonrpc": "2.0",
            "id": "late",
            "method": "textDocument/hover",
            "params": editor.at(JOB, 0, 0),
        }
        editor.write(cancel + framed(hover))
        assert editor.next()["error"]["message"] == "cancelled"


@pytest.mark.long
def test_a_document_that_is_too_big_is_told_and_others_are_checked(project: Path) -> None:
    text = (project / JOB).read_text() + "#" * MAX_FILE_BYTES
    with Editor(project) as editor:
        editor.start()
        editor.open(JOB)
        assert len(editor.diagnostics(JOB)) == 2
        editor.open(CR, (project / CR).read_text().replace("replicas", "replicaz"))
        editor.diagnostics(CR)
        editor.change(JOB, text)
        [told] = editor.diagnostics(JOB)
        assert told["message"].startswith("this file is not checked as you type: it has 8,389,")
        assert told["severity"] == 3
        assert codes(editor.diagnostics(CR)) == ["SCHEMA001"]
        assert editor.request("textDocument/hover", editor.at(JOB, 11, 3)) is None
        assert editor.request("textDocument/documentSymbol", editor.at(JOB, 0, 0)) is None
        assert editor.end() == (0, "")


def _document(project: Path) -> Message:
    return {"uri": (project / JOB).as_uri(), "version": 1, "text": (project / JOB).read_text()}


def test_nothing_else_gets_into_the_stream(project: Path) -> None:
    """What a library prints goes to standard error, and the answers stay whole."""
    script = (
        "import sys\nfrom podplan.cli import main\nfrom podplan.integrations.lsp import hover\n"
        "hover.render_hover = lambda *_: print('noise') or 'told'\n"
        "sys.argv = ['podplan', 'lsp']\nmain()\n"
    )
    talk = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}},
        {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": _document(project)}},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "textDocument/hover",
            "params": {"textDocument": _document(project), "position": {"line": 0, "character": 0}},
        },
    ]
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=b"".join(map(framed, talk)),
        capture_output=True,
        cwd=project,
        check=False,
    )
    assert b'"value":"told"' in done.stdout
    assert b"noise" not in done.stdout
    assert b"noise" in done.stderr
    assert done.returncode == 0


def test_a_crash_in_a_request_is_its_error_and_not_the_end(project: Path) -> None:
    script = (
        "import sys\nfrom podplan.cli import main\nfrom podplan.integrations.lsp import workspace\n"
        "def crash(*_): raise ZeroDivisionError('by design')\n"
        "workspace.check_sources = crash\nsys.argv = ['podplan', 'lsp']\nmain()\n"
    )
    talk = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}},
        {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": _document(project)}},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "textDocument/codeAction",
            "params": {
                "textDocument": _document(project),
                "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
            },
        },
        {"jsonrpc": "2.0", "id": 3, "method": "shutdown"},
        {"jsonrpc": "2.0", "method": "exit"},
    ]
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=b"".join(map(framed, talk)),
        capture_output=True,
        cwd=project,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"internal error" in done.stdout
    assert b"ZeroDivisionError" in done.stdout
    assert b"by design" not in done.stdout  # it may quote anything
    assert b'"id":3,"result":null' in done.stdout
