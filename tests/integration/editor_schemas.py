"""The schemas for editors in the YAML language server: errors, proposals and descriptions, by kind.

python -m tests.integration.editor_schemas FOLDER, where npm has installed yaml-language-server.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.command import podplan
from tests.editor import framed

PROGRAM = "node_modules/yaml-language-server/bin/yaml-language-server"
TIMEOUT = 120  # seconds; then the run is killed
JOB = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n"
PROFILE = "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: a}\nspec:\n"
SERVICE = "apiVersion: v1\nkind: Service\nspec: {anything: 1}\n---\n"


class Server:
    """The YAML language server with all.json for every file."""

    def __init__(self, program: Path, schema: Path) -> None:
        node = shutil.which("node") or "node"
        self.process = subprocess.Popen(
            [node, program, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self.settings = {"schemas": {schema.as_uri(): "*.yaml"}, "validate": True, "hover": True}
        self.settings |= {"completion": True, "schemaStore": {"enable": False}}
        self.numbers = count(1)
        capabilities = {"workspace": {"configuration": True}, "textDocument": {"hover": {}}}
        self.request("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities})
        self.send({"method": "initialized", "params": {}})

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(framed({"jsonrpc": "2.0", **message}))

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield what the server sends, and answer its questions about the configuration."""
        assert self.process.stdout is not None
        while header := self.process.stdout.readline():
            length = int(header.split(b":")[1])
            while self.process.stdout.readline().strip():
                pass
            content = b""
            while len(content) < length:
                content += self.process.stdout.read(length - len(content))
            message = json.loads(content)
            if "method" in message and "id" in message:
                items = message.get("params", {}).get("items", ())
                asked = [self.settings if item.get("section") == "yaml" else {} for item in items]
                self.send({"id": message["id"], "result": asked})
            else:
                yield message
        raise SystemExit("the YAML language server has ended")

    def request(self, method: str, params: dict[str, Any]) -> Any:
        number = next(self.numbers)
        self.send({"id": number, "method": method, "params": params})
        return next(one["result"] for one in self.messages() if one.get("id") == number)

    def open(self, text: str) -> tuple[str, list[str]]:
        """Open a text; return its URI, and its errors, each with its line."""
        uri = f"file:///{next(self.numbers)}.yaml"
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        found = next(
            one["params"]["diagnostics"]
            for one in self.messages()
            if one.get("method") == "textDocument/publishDiagnostics" and one["params"]["uri"] == uri
        )
        return uri, [f"{one['range']['start']['line'] + 1}: {one['message']}" for one in found]

    def at_cursor(self, method: str, text: str) -> Any:
        """Request something at the | of a text."""
        before = text.partition("|")[0]
        uri, _ = self.open(text.replace("|", "", 1))
        position = {"line": before.count("\n"), "character": len(before.rpartition("\n")[2])}
        return self.request(method, {"textDocument": {"uri": uri}, "position": position})

    def complete(self, text: str) -> set[str]:
        result = self.at_cursor("textDocument/completion", text)
        return {one["label"] for one in result["items"]}


def main(folder: Path) -> int:
    """Return 0 if the server understands the schemas."""
    signal.alarm(TIMEOUT)
    with TemporaryDirectory(prefix="podplan-schemas-") as name:
        assert podplan("schema", "export", "--editors", name).code == 0
        server = Server(folder.absolute() / PROGRAM, Path(name) / "all.json")
        try:
            check(server)
        finally:
            server.process.kill()
            server.process.wait()
    print("the YAML language server finds errors, proposes and describes fields by the kind of a document")
    return 0


def check(server: Server) -> None:
    """Raise AssertionError where the server does otherwise than docs/editors.md says."""
    assert server.open(f"{JOB}  nprocPerNode: auto\n  pytorchReplicaSpecs: {{}}\n")[1] == []
    assert server.open(f"{PROFILE}  replica: 3\n")[1] == ["5: Property replica is not allowed."]
    two = f"{SERVICE}{JOB}  nprocsPerNode: auto\n  pytorchReplicaSpecs: {{}}\n"
    assert server.open(two)[1] == ["9: Property nprocsPerNode is not allowed."]
    assert {"PyTorchJob", "JobProfile", "JobSet"} <= server.complete("apiVersion: v1\nkind: |\n")
    assert {"kubeflow.org/v1", "podplan/v1"} <= server.complete("apiVersion: |\n")
    assert {"pytorchReplicaSpecs", "runPolicy"} <= server.complete(f"{JOB}  |\n")
    assert {"image", "launcher", "extends"} <= server.complete(f"{PROFILE}  |\n")
    assert {"torchrun", "deepspeed"} <= server.complete(f"{PROFILE}  launcher: |\n")
    described = server.at_cursor("textDocument/hover", f"{PROFILE}  working|Dir: /a\n")
    assert "The folder in which the training container starts" in json.dumps(described)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
