"""Targets with a dialogue: the language server, the CEL process, the configuration, a baseline."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path
from typing import Any

from podplan.cli.lsp import resolve_file_settings
from podplan.config import load_config_for
from podplan.core.errors import UsageError
from podplan.core.limits import MAX_CEL_SECONDS, LimitExceeded
from podplan.integrations.lsp.framing import MalformedMessage, read_messages
from podplan.integrations.lsp.params import INTERNAL_ERROR
from podplan.integrations.lsp.server import LanguageServer
from podplan.lint.baseline import parse_baseline, serialize_baseline
from podplan.lint.cel.rules import CelRules, Validation
from podplan.lint.cel.sandbox import evaluate_rules
from podplan.yaml import parse_yaml
from tests.command import JOB, PROFILE
from tests.fuzz.places import repository
from tests.run_invariants import check_refusal

TODAY = 'today = "2026-01-01"\n'  # an input must do the same on another day
ASKED = ("hover", "completion", "definition", "documentSymbol", "codeAction")
KNOWN = (*ASKED, "didOpen", "didChange", "didClose", "didSave")


def configuration(content: bytes) -> None:
    """Assert that a podplan.toml gives settings or an error message."""
    with repository({"settings/job.yaml": JOB}) as top:
        (top / "podplan.toml").write_bytes(content)
        try:
            config = load_config_for("settings/job.yaml")
            assert all(config.locations.values())
            resolve_file_settings("settings/job.yaml")
        except (UsageError, LimitExceeded) as error:
            check_refusal(error)


def baseline(content: bytes) -> None:
    """Assert that a readable baseline is written so that it reads the same."""
    try:
        entries = parse_baseline(content.decode(errors="surrogateescape"), "baseline.json")
    except (UsageError, LimitExceeded) as error:
        check_refusal(error)
        return
    assert sorted(parse_baseline(serialize_baseline(entries), "again.json")) == sorted(entries)


_POD = parse_yaml(JOB.encode(), "job.yaml").documents[0].data


def cel(content: bytes) -> None:
    """Assert that an expression has a verdict, and only a limit ends its process."""
    expression = content.decode(errors="replace")
    begun = time.monotonic()
    try:
        verdict = evaluate_rules(
            CelRules((Validation(expression, f"string({expression})"),)), {"object": _POD}
        )
    except LimitExceeded as error:
        died = "took more than" in str(error)
        # If it is neither time nor memory, the evaluator crashed, for which it has a separate process.
        assert not died or time.monotonic() - begun > MAX_CEL_SECONDS / 2 or _is_costly(expression), "it died"
        return
    json.dumps([verdict.failures, verdict.errors])
    for fault in verdict.errors:
        assert fault.message


def _is_costly(expression: str) -> bool:
    """Whether an expression could need a gigabyte."""
    return any(
        word in expression for word in ("map", "all", "exists", "filter", "+", "join", "format", "replace")
    )


def lsp(content: bytes) -> None:
    """Open a text in an editor, change it and send all requests about a position; assert that there is no
    internal error."""
    head, text = content[:3].ljust(3, b"\0"), content[3:].decode(errors="replace")
    line, character = head[0], head[1]
    with repository({"lsp/job.yaml": JOB, "lsp/profile.yaml": PROFILE, "podplan.toml": TODAY}) as top:
        uri = (top / "lsp" / ("job.yaml" if head[2] % 2 else "profile.yaml")).as_uri()
        document = {"uri": uri, "version": 1, "text": text}
        place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": line + 1, "character": character}}
        sent: list[dict[str, Any]] = [
            {"id": 0, "method": "initialize", "params": {}},
            {"method": "textDocument/didOpen", "params": {"textDocument": document}},
        ]
        for number, method in enumerate(ASKED, 1):
            sent.append(
                {"id": number, "method": f"textDocument/{method}", "params": {**place, "range": whole}}
            )
        answers = _talk(sent)
    assert [one["id"] for one in answers if "id" in one] == list(range(len(ASKED) + 1))


def frames(content: bytes) -> None:
    """Assert that bytes of a stream are a message or rejected, and the server continues."""
    with repository({"lsp/job.yaml": JOB, "podplan.toml": TODAY}):
        _talk([{"id": 0, "method": "initialize", "params": {}}, *read_messages(io.BytesIO(content))])


def _talk(sent: list[dict[str, Any] | MalformedMessage] | list[dict[str, Any]]) -> list[dict[str, Any]]:
    out = io.BytesIO()
    server = LanguageServer(out, resolve_file_settings)
    for message in sent:
        if server.code is None and not _leads_away(message):
            server.handle_message(message)
    server.flush_check()
    answers = [one for one in read_messages(io.BytesIO(out.getvalue())) if isinstance(one, dict)]
    for one in answers:
        internal = one.get("error", {}).get("code") == INTERNAL_ERROR
        logged = one.get("method") == "window/logMessage" and one["params"]["type"] == 1
        wrong = internal or logged
        assert not wrong, json.dumps(one)
    return answers


def _leads_away(message: dict[str, Any] | MalformedMessage) -> bool:
    """Whether a message refers to other files on this machine, which a fuzzer should not access."""
    here = Path(os.getcwd()).as_uri()
    return "file:" in json.dumps(message).replace(here, "")
