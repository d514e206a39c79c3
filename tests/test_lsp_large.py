"""The server with much to do: long documents, many of them, many files, and an editor that is faster."""

from __future__ import annotations

import io
import json
import re
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from podplan.cli.lsp import resolve_file_settings
from podplan.integrations.lsp import dependents, parse_cache, server
from podplan.integrations.lsp.documents import MAX_CHECKED_CHARACTERS, MAX_CHECKED_DOCUMENTS, OpenDocuments
from podplan.integrations.lsp.inbox import Inbox
from podplan.integrations.lsp.server import LanguageServer
from podplan.integrations.lsp.workspace import Workspace
from podplan.yaml import parse_yaml

PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {{name: {name}}}
spec: {{extends: [../bases/{base}.yaml], job: GenericJob, image: "a:1", run: {{exec: [a]}}}}
"""
BASE = "apiVersion: podplan/v1\nkind: JobProfileBase\nmetadata: {name: b}\nspec: {env: {WORLD_SIZE: '1'}}\n"
INVENTORY = """\
apiVersion: podplan/v1
kind: ClusterInventory
metadata: {name: c}
spec: {asOf: 2026-01-01, hardware: {a10x1: {gpus: {nvidia.com/gpu: 1}, cpu: 8, memory: 64Gi}}}
"""
ASKED = partial(resolve_file_settings, isolated=True)

Message = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (".git", "jobs", "bases"):
        (tmp_path / name).mkdir()
    for number in range(30):
        text = PROFILE.format(name=f"job-{number}", base=number % 3)
        (tmp_path / "jobs" / f"{number}.yaml").write_text(text)
    for number in range(3):
        (tmp_path / "bases" / f"{number}.yaml").write_text(BASE)
    return tmp_path


def changed(uri: str, version: int, text: Any = "a") -> Message:
    document = {"uri": uri, "version": version}
    params = {"textDocument": document, "contentChanges": [{"text": text}]}
    return {"method": "textDocument/didChange", "params": params}


class Session:
    """A server that is spoken to without a pipe."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = io.BytesIO()
        self.server = LanguageServer(self.out, ASKED)
        self.server.handle_message({"id": 1, "method": "initialize", "params": {}})

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str) -> None:
        document = {"uri": self.uri(name), "version": 1, "text": text}
        self.server.handle_message({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def close(self, name: str) -> None:
        params = {"textDocument": {"uri": self.uri(name)}}
        self.server.handle_message({"method": "textDocument/didClose", "params": params})

    def told(self) -> dict[str, list[str]]:
        """The messages that a check publishes now, by the name of the document."""
        self.out.seek(0)
        self.out.truncate()
        self.server.check_documents()
        found = [
            json.loads(body) for body in re.split(rb"Content-Length: \d+\r\n\r\n", self.out.getvalue())[1:]
        ]
        params = [one["params"] for one in found if one["method"] == "textDocument/publishDiagnostics"]
        return {
            one["uri"].removeprefix(f"{self.uri('.')}/"): [each["message"] for each in one["diagnostics"]]
            for one in params
        }


# --- an editor that is faster


def test_of_ten_thousand_changes_the_last_waits() -> None:
    inbox = Inbox()
    for version in range(10_000):
        inbox.put(changed("file:///a", version))
    assert len(inbox) == 1
    assert inbox.get(0) == changed("file:///a", 9_999)
    with pytest.raises(TimeoutError):
        inbox.get(0)


def test_a_change_stays_where_it_is_asked_about_or_the_next_one_is_none() -> None:
    asked = {"id": 1, "method": "textDocument/hover"}
    came = [
        changed("file:///a", 1),
        asked,
        changed("file:///a", 2),
        changed("file:///b", 3),
        changed("file:///a", 4, None),
        changed("file:///a", 5) | {"id": 6},
        {"method": "textDocument/didChange", "params": 7},
        None,
    ]
    inbox = Inbox()
    for message in came:
        inbox.put(message)
    assert [inbox.get(0) for _ in came] == came


def test_it_waits_for_as_long_as_a_check_takes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, now = Session(folder), [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def slow(_: Workspace, seconds: float) -> Any:
        now[0] += seconds
        raise OSError

    for seconds, pause in ((0.01, server.DEBOUNCE), (1.5, 1.5), (30.0, server.MAX_DEBOUNCE)):
        monkeypatch.setattr(Workspace, "check", partial(slow, session.server.workspace, seconds))
        session.server.check_documents()
        session.server.schedule_check()
        assert session.server.compute_timeout() == pytest.approx(pause)


# --- long documents and many of them


def test_a_document_that_is_too_long_is_told_once_and_takes_no_room(folder: Path) -> None:
    session = Session(folder)
    long = BASE + "#" * MAX_CHECKED_CHARACTERS
    session.open("long.yaml", long)
    session.open("short.yaml", BASE.replace("env", "evn"))
    told = session.told()
    assert told["long.yaml"] == [
        f"this file is not checked as you type: it has {len(long):,} characters, more than"
        f" {MAX_CHECKED_CHARACTERS:,}"
    ]
    assert len(told["short.yaml"]) == 1
    assert "long.yaml" not in session.told()
    session.close("long.yaml")
    assert session.told()["long.yaml"] == []


def test_of_a_base_that_is_left_out_a_profile_tells_what_it_does(folder: Path) -> None:
    session = Session(folder)
    session.open("bases/0.yaml", BASE.replace("WORLD_SIZE", "'a=b'") + "#" * MAX_CHECKED_CHARACTERS)
    assert len(session.told()["bases/0.yaml"]) == 1
    session.open("jobs/0.yaml", PROFILE.format(name="job", base=0))
    note, found = session.told()["bases/0.yaml"]
    assert note.startswith("this file is not checked as you type")
    assert 'name "a=b"' in found


def test_every_document_that_reaches_a_limit_says_so_and_no_other(folder: Path) -> None:
    """Of those that cannot be read only the first did, and so did one whose name is in that of another. One
    that is on no disk yet was an internal error, and nothing was said of any."""
    job = PROFILE.format(name="job", base=0)
    reaching = {
        "a.yaml": job + "x: [&a 1" + ", *a" * 1_001 + "]\n",
        "b.yaml": job + "x: [&a 1" + ", *a" * 1_002 + "]\n",
        "jobs/c.yaml.yaml": job.replace("[a]", "[a" + ", a" * 10_000 + "]").replace("job}", "c}"),
    }
    session = Session(folder)
    for name, text in {"jobs/c.yaml": job, **reaching}.items():
        session.open(name, text)
    told = session.told()
    assert not any("is not checked" in message for message in told.get("jobs/c.yaml", ()))
    for name, what in zip(reaching, ("aliases", "aliases", "words"), strict=True):
        (said,) = (message for message in told[name] if message.startswith("this file is not checked: "))
        assert f"{name}: " in said
        assert f" {what}; " in said


def test_what_changed_last_has_room_first() -> None:
    documents = OpenDocuments()
    for number in range(4):
        documents.put(f"file:///{number}", 1, "a" * (MAX_CHECKED_CHARACTERS // 2))
    assert documents.list_skipped().keys() == {"/0", "/1"}
    documents.put("file:///0", 2, "a" * (MAX_CHECKED_CHARACTERS // 2))
    assert documents.list_skipped().keys() == {"/1", "/2"}
    for number in range(4, 4 + MAX_CHECKED_DOCUMENTS):
        documents.put(f"file:///{number}", 1, "")
    assert documents.list_skipped().keys() == {"/0", "/1", "/2", "/3"}


@pytest.mark.long
def test_closed_documents_leave_nothing(folder: Path) -> None:
    session = Session(folder)
    (folder / "link.yaml").symlink_to("bases/0.yaml")
    names = [f"{number}.yaml" for number in range(20)] + ["link.yaml", "bases/0.yaml"]
    for name in names:
        session.open(name, BASE.replace("env", "evn"))
        assert session.told()
    for name in names:
        session.close(name)
        session.close(name)
    assert session.told()
    assert session.told() == {}
    documents, workspace = session.server.workspace.documents, session.server.workspace
    held = [
        *vars(documents).values(),
        workspace._dependents,
        session.server._published,
        session.server._skipped_diagnostics,
        *session.server.report,
    ]
    assert not any(held)


def test_a_file_has_the_text_and_name_under_which_it_is_open(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a")
    (tmp_path / "b.yaml").symlink_to("a.yaml")
    a, b = ((tmp_path / name).as_uri() for name in ("a.yaml", "b.yaml"))
    documents = OpenDocuments()
    documents.put(b, 1, "open")
    assert documents.uri(str(tmp_path / "a.yaml")) == b
    assert documents.unsaved_texts()[str((tmp_path / "a.yaml").resolve())] == "open"
    documents.put(a, 1, "too")
    assert documents.uri(str(tmp_path / "a.yaml")) == a
    documents.remove(a)
    assert documents.uri(str(tmp_path / "a.yaml")) == b


# --- many files


def test_the_files_of_a_root_are_parsed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def counted(content: bytes, file: str) -> Any:
        parsed.append(Path(file).name)
        return parse_yaml(content, file)

    monkeypatch.setattr(dependents, "parse_yaml", counted)
    session = Session(folder)
    for number in range(3):
        session.open(f"bases/{number}.yaml", BASE)
        assert len(session.told()) == 10 * (number + 1) + number + 1
    assert len(parsed) == 30
    parsed.clear()
    (folder / "jobs" / "7.yaml").write_text(PROFILE.format(name="job-7", base=0))
    session.server.handle_message({"method": "textDocument/didSave", "params": {}})
    assert len(session.told()) == 33
    assert parsed == ["7.yaml"]


def test_what_others_name_is_parsed_again_only_when_it_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A base or an inventory of 8 MB was parsed at every key: five seconds."""
    parsed: list[str] = []

    def counted(content: bytes, file: str) -> Any:
        parsed.append(Path(file).name)
        return parse_yaml(content, file)

    monkeypatch.setattr(parse_cache, "parse_yaml", counted)
    (folder / "inventory.yaml").write_text(INVENTORY)
    session = Session(folder)
    text = PROFILE.format(name="job", base=0).replace("job:", "hardware: none, job:")
    session.open("jobs/0.yaml", text)
    first = session.told()
    assert sorted(parsed) == ["0.yaml", "inventory.yaml"]
    for version in range(2, 5):
        session.server.handle_message(changed(session.uri("jobs/0.yaml"), version, text + "#" * version))
        assert session.told() == first
    assert len(parsed) == 2
    (folder / "bases/0.yaml").write_text(BASE.replace("WORLD_SIZE", "'a=b'"))  # and nobody tells of it
    assert session.told() != first
    assert parsed[2:] == ["0.yaml"]
    session.close("jobs/0.yaml")
    assert session.server.workspace._parse_cache._sources_by_path == {}


def test_what_is_kept_parsed_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse_cache, "MAX_CACHED_BYTES", 10)
    kept = parse_cache.ParseCache()
    a, b = kept.load_source(b"a: 1", "a"), kept.load_source(b"b: 1", "b")
    assert kept.load_source(b"a: 1", "a") is a
    kept.load_source(b"c: 1", "c")
    assert kept.load_source(b"a: 1", "a") is a
    assert kept.load_source(b"b: 1", "b") is not b
    assert kept.load_source(b"long: 123456", "d").documents[0].data == {"long": 123456}


def test_an_inventory_that_nobody_told_of_counts_from_the_next_key_on(folder: Path) -> None:
    """It came with a pull in a terminal, say, and not every editor watches files."""
    session = Session(folder)
    text = PROFILE.format(name="job", base=0).replace("job:", "hardware: none, job:")
    session.open("jobs/0.yaml", text)
    first = session.told()["jobs/0.yaml"]
    (folder / "inventory.yaml").write_text(INVENTORY)
    session.server.handle_message(changed(session.uri("jobs/0.yaml"), 2, text + "#"))
    assert session.told()["jobs/0.yaml"] != first


def test_long_files_that_extend_one_are_not_all_checked_with_it(folder: Path) -> None:
    for number in range(0, 30, 3):
        file = folder / "jobs" / f"{number}.yaml"
        file.write_text(file.read_text() + "#" * (MAX_CHECKED_CHARACTERS // 4))
    workspace = Workspace(ASKED)
    opened = workspace.documents.put((folder / "bases" / "0.yaml").as_uri(), 1, BASE)
    assert opened is not None
    assert len(list(workspace.iter_plans(opened))) == 3
