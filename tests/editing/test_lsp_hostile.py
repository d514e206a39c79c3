"""Messages that no editor sends, and what an outline must not show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podplan.integrations.lsp.params import INVALID_REQUEST
from tests.editor import Editor

SECRETS = """\
apiVersion: v1
kind: Secret
metadata: {name: hunted}
stringData: {password: hunter2hunter2}
---
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: shown}
spec:
  job: GenericJob
  image: a:1
  env: {DB_PASSWORD: hunter2hunter2, RANK: eleven}
  roles: [{role: worker, replicas: 1}]
"""


@pytest.mark.parametrize("id_", ["[1]", "{}", "1e400", "-1e400"])
def test_an_id_that_is_none_is_refused(tmp_path: Path, id_: str) -> None:
    with Editor(tmp_path) as editor:
        editor.start()
        editor.write(_framed(f'{{"jsonrpc": "2.0", "id": {id_}, "method": "textDocument/hover"}}'))
        answer = editor.next()
        assert (answer["id"], answer["error"]["code"]) == (None, INVALID_REQUEST)
        assert editor.end() == (0, "")


def test_an_outline_shows_no_secret(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SECRETS)
    with Editor(tmp_path) as editor:
        editor.start()
        editor.open("a.yaml")
        asked = {"textDocument": {"uri": editor.uri("a.yaml")}}
        outline = json.dumps(editor.request("textDocument/documentSymbol", asked))
        editor.end()
    assert "hunted" in outline
    assert "eleven" in outline
    assert outline.count("(not shown: secret)") == 2
    assert "hunter2" not in outline


def _framed(body: str) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body.encode())
