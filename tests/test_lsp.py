"""The server as an editor meets it: its life, messages that are none, and what it answers at a place."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from podplan.limits import MAX_FILE_BYTES
from podplan.lsp.params import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    NO_METHOD,
    NOT_INITIALIZED,
    PARSE_ERROR,
)
from tests.editor import Editor, Message, framed

FIXTURES = Path(__file__).parent.parent / "fixtures" / "lsp"
JOB, BASE, CR, INVENTORY = "jobs/bert.yaml", "bases/training.yaml", "jobs/count.yaml", "clusters/main.yaml"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    shutil.copytree(FIXTURES / "project", folder)
    (folder / ".git").mkdir()
    return folder


def codes(found: list[Message]) -> list[str]:
    return [str(one.get("code")) for one in found]


def place(editor: Editor, name: str, text: str) -> Message:
    """Params for the place that | marks in a text, which the editor gets without it."""
    before = text.partition("|")[0]
    editor.change(name, text.replace("|", "", 1))
    return editor.at(name, before.count("\n"), len(before.rpartition("\n")[2]))


def completed(editor: Editor, name: str, text: str) -> dict[str, str]:
    """What is proposed at |, each with the text that would be written."""
    result = editor.request("textDocument/completion", place(editor, name, text))
    return {item["label"]: item["textEdit"]["newText"] for item in result["items"]}


# --- the life of a server


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
        assert early["error"]["code"] == NOT_INITIALIZED
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
            ("podplan/dance", {}, NO_METHOD),
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


# --- findings


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


# --- at a place


def test_every_value_of_the_schema_is_proposed_where_the_text_is_broken(project: Path) -> None:
    head = (project / JOB).read_text().partition("  job:")[0]
    with Editor(project) as editor:
        editor.start()
        editor.open(JOB)
        assert completed(editor, JOB, head + "  launcher: |\n  nonsense\n") == {
            name: name for name in ("torchrun", "python", "deepspeed", "colossalai")
        }
        assert completed(editor, JOB, head + "  job: Py|\n")["PyTorchTrainingJob"] == "PyTorchTrainingJob"
        assert completed(editor, JOB, head + "  shm: |\n").keys() >= {"auto", "none"}
        assert completed(editor, JOB, head + "  mode:|\n")["debug"] == " debug"
        assert "readOnly" in completed(editor, JOB, head + "  data:\n  - {name: a, |\n  image: b\n")
        fields = completed(editor, JOB, head + "  repl|\n  image: b\n")
        assert fields["replicas"] == "replicas: "
        assert fields["schedule"] == "schedule:"
        assert not {"image", "extends"} & fields.keys()
        assert completed(editor, JOB, head + "  environments:\n    dev:\n      hard|\n")["hardware"]
        assert completed(editor, JOB, head + "  repl|icas: 3\n")["replicas"] == "replicas"
        assert completed(editor, JOB, head + "  # hard|\n") == {}
        assert editor.end() == (0, "")


def test_names_are_those_of_the_inventory_and_the_params(project: Path) -> None:
    head = (project / JOB).read_text().partition("  job:")[0]
    with Editor(project) as editor:
        editor.start()
        editor.open(JOB)
        for text, names in {
            "  hardware: |\n": ["h100x8", "a10x1"],
            "  roles: [{name: a, hardware: |\n": ["h100x8", "a10x1"],
            "  schedule:\n    queue: |\n": ["research", "debug"],
            "  data:\n  - pvc: |\n": ["imagenet"],
            "  env:\n    KEY: {secret: |\n": ["wandb/api-key"],
            '  params: {lr: {}}\n  run: [a.py, "${{ params.|': ["lr", "seed"],
            '  run: [a.py, "${{ inventory.hardware.|': ["h100x8", "a10x1"],
            "  params: {lr: {}}\n  environments: {dev: {values: {|}}}\n": ["lr", "seed"],
        }.items():
            assert list(completed(editor, JOB, head + text)) == names, text
        assert list(completed(editor, JOB, head.replace("[../bases/training.yaml]", "\n  - |"))) == [
            "../bases/training.yaml"
        ]
        assert editor.end() == (0, "")


def test_a_cr_is_completed_and_explained_by_its_own_schema(project: Path) -> None:
    cr = (project / CR).read_text()
    with Editor(project) as editor:
        editor.start()
        editor.open(CR)
        assert editor.diagnostics(CR) == []
        assert "imagePullPolicy" in completed(editor, CR, cr + "          imageP|")
        assert list(completed(editor, CR, cr + "          imagePullPolicy: |")) == [
            "Always",
            "IfNotPresent",
            "Never",
        ]
        said = hover(editor, CR, cr.replace("procPerNode", "proc|PerNode"))
        assert "worker → 3 Pods × 8 GPUs = 24" in said
        assert '- `spec.containers[pytorch].command[4]`: `"8"`' in said
        assert "in Pod/count-worker-{1..2}:" in said
        assert "[anchored]" in hover(editor, CR, cr.replace("type: worker", "type: work|er"))
        assert editor.end() == (0, "")


def hover(editor: Editor, name: str, text: str) -> str:
    result = editor.request("textDocument/hover", place(editor, name, text))
    return str(result["contents"]["value"]) if result else ""


def test_hover_tells_the_effective_value_and_hides_secrets(project: Path) -> None:
    job = (project / JOB).read_text()
    with Editor(project) as editor:
        editor.start()
        editor.open(JOB)
        said = hover(editor, JOB, job.replace("processes: auto", "processes: au|to"))
        assert "- dev: worker → 1 Pod × 1 GPU = 1" in said
        assert '- `spec.torchrunConfig.procPerNode`: `"1"`' in said
        assert "[documented]" in said
        secret = job.replace("  env: {", "  env: {WANDB_API_KEY: 0123456789abcdef0123456789abcdef01234567, ")
        said = hover(editor, JOB, secret.replace("WANDB", "WAN|DB"))
        assert "(not shown: secret)" in said
        assert "0123456789abcdef" not in said
        assert hover(editor, JOB, job.replace("  replicas: 32", "| replicas: 32")) == ""
        broken = job.replace("  replicas: 32", "  repl|icas: {").replace("launcher:", "launcher")
        assert "How many Pods." in hover(editor, JOB, broken)
        unfinished = "apiVersion: podplan/v1\nkind: JobProfile\nspec: {job: DeepSpeedJob, proc|esses: 3, {"
        assert "processes: auto is written out" in hover(editor, JOB, unfinished)
        generic = "apiVersion: batch.tensorstack.dev/v1beta1\nkind: GenericJob\nspec:\n  success|Rules: {\n"
        assert "one of its successRules" in hover(editor, JOB, generic)
        assert editor.end() == (0, "")


def test_fixes_are_offered_where_they_belong(project: Path) -> None:
    job = (project / JOB).read_text()
    everywhere = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    with Editor(project) as editor:
        editor.start()
        editor.open(JOB, job.replace("image:", "imagee:"))

        def offered(only: list[str] | None = None, where: Message = everywhere) -> list[Message]:
            context = {"diagnostics": [], **({"only": only} if only else {})}
            document = {"uri": editor.uri(JOB)}
            return list(
                editor.request(
                    "textDocument/codeAction", {"textDocument": document, "range": where, "context": context}
                )
            )

        [rename, remove, whole] = offered()  # without waiting for the findings
        assert remove["title"] == "CR009: leave RANK away"
        assert rename["kind"] == "quickfix"
        assert rename["edit"]["changes"][editor.uri(JOB)][0]["newText"] == "image"
        assert offered(only=["source.fixAll"]) == [whole] == offered(only=["source.fixAll.podplan"])
        assert offered(only=["refactor"]) == []
        assert offered(where={"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}}) == [
            whole
        ]
        edits = whole["edit"]["changes"][editor.uri(JOB)]
        assert [edit["newText"] for edit in edits] == [
            "  image: registry.example.com/nlp/train:1.8.0\n",
            '  env: {TITLE: "训练 🚀"}\n',
        ]
        assert editor.end() == (0, "")


def test_nothing_else_gets_into_the_stream(project: Path) -> None:
    """What a library prints goes to standard error, and the answers stay whole."""
    script = (
        "import sys\nfrom podplan.cli import main\nfrom podplan.lsp import hover\n"
        "hover.text = lambda *_: print('noise') or 'told'\n"
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


def _document(project: Path) -> Message:
    return {"uri": (project / JOB).as_uri(), "version": 1, "text": (project / JOB).read_text()}


def test_a_crash_in_a_request_is_its_error_and_not_the_end(project: Path) -> None:
    script = (
        "import sys\nfrom podplan.cli import main\nfrom podplan.lsp import workspace\n"
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
    assert b"ZeroDivisionError: by design" in done.stdout
    assert b'"id":3,"result":null' in done.stdout
