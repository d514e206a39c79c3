"""A test editor that communicates with ``podplan lsp`` over pipes, as editors do."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

TIMEOUT = 60

Message = dict[str, Any]


def framed(message: Any) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


class Editor:
    """A session with its own server in ``folder``; use it in a ``with`` block, which ends the server."""

    def __init__(self, folder: Path, *flags: str, prepare: Callable[[], None] | None = None) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "podplan", "lsp", *flags],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=prepare,
        )
        self.notes: list[Message] = []
        self._came: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._ids = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(TIMEOUT)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()

    def _listen(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while line := stream.readline():
            length = int(line.removeprefix(b"Content-Length: "))
            assert stream.readline() == b"\r\n"
            self._came.put(json.loads(stream.read(length)))
        self._came.put(None)

    def write(self, content: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(content)
        self.process.stdin.flush()

    def next(self) -> Message:
        """Return the next message of the server."""
        message = self._came.get(timeout=TIMEOUT)
        assert message is not None, "the server hung up"
        return message

    def answer(self, method: str, params: Any = None) -> Message:
        """Return the response to a request, with its result or error; messages before it are kept in
        ``notes``."""
        self._ids += 1
        self.write(framed({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}))
        while "id" not in (message := self.next()):
            self.notes.append(message)
        assert message["id"] == self._ids
        return message

    def request(self, method: str, params: Any = None) -> Any:
        """Return the result of a request."""
        answer = self.answer(method, params)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def notify(self, method: str, params: Any = None) -> None:
        self.write(framed({"jsonrpc": "2.0", "method": method, "params": params}))

    def start(self, encodings: list[str] | None = None) -> Any:
        """Initialize and open the session; return the result of initialize."""
        general = {"positionEncodings": encodings} if encodings is not None else {}
        result = self.request(
            "initialize",
            {"processId": None, "rootUri": self.uri("."), "capabilities": {"general": general}},
        )
        self.notify("initialized", {})
        return result

    def uri(self, name: str) -> str:
        return (self.folder / name).resolve().as_uri()

    def open(self, name: str, text: str | None = None) -> None:
        """Open a file, optionally with a text that differs from the one on disk."""
        content = (self.folder / name).read_text() if text is None else text
        document = {"uri": self.uri(name), "languageId": "yaml", "version": 1, "text": content}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, name: str, text: str, version: int = 2) -> None:
        document = {"uri": self.uri(name), "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def at(self, name: str, line: int, character: int) -> Message:
        """Return params for a request about a position."""
        position = {"line": line, "character": character}
        return {"textDocument": {"uri": self.uri(name)}, "position": position}

    def diagnostics(self, name: str) -> list[Message]:
        """Return the next diagnostics of a file."""
        for number, note in enumerate(self.notes):
            if _is_about(note, self.uri(name)):
                del self.notes[: number + 1]
                return list(note["params"]["diagnostics"])
        while not _is_about(message := self.next(), self.uri(name)):
            pass
        return list(message["params"]["diagnostics"])

    def end(self) -> tuple[int, str]:
        """Shut down and exit; return the exit code and standard error."""
        assert self.request("shutdown") is None
        self.notify("exit")
        return self.wait()

    def hang_up(self) -> tuple[int, str]:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.wait()

    def wait(self) -> tuple[int, str]:
        code = self.process.wait(TIMEOUT)
        assert self.process.stderr is not None
        return code, self.process.stderr.read().decode()


def _is_about(message: Message, uri: str) -> bool:
    about = message.get("method") == "textDocument/publishDiagnostics"
    return about and bool(message["params"]["uri"] == uri)
