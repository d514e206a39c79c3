"""The server: messages in, messages out, one after the other; documents are checked when nobody types.

A thread reads, so that a check can wait for the next key. Whatever a request runs into is the answer to that
request, or a line in the log of the editor; nothing of it ends the server.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from math import isfinite

from podplan import __version__
from podplan.core.errors import RequestError
from podplan.core.limits import BoundExceeded
from podplan.core.typing import Any, BinaryIO
from podplan.integrations.lsp import positions
from podplan.integrations.lsp.diagnostics import diagnostics
from podplan.integrations.lsp.framing import Malformed, framed, messages
from podplan.integrations.lsp.inbox import Inbox
from podplan.integrations.lsp.params import (
    CANCELLED,
    FAILED,
    INTERNAL,
    INVALID_REQUEST,
    NO_METHOD,
    NOT_INITIALIZED,
    PARSE_ERROR,
    ResponseError,
    integer,
    mapping,
    sequence,
    text,
)
from podplan.integrations.lsp.workspace import Asked, Report, Workspace

DEBOUNCE = 0.2  # seconds without a key
LONGEST_PAUSE = 2.0
FULL_TEXT = 1
_LOG_ERROR, _LOG_WARNING = 1, 2

Message = dict[str, Any]


def serve(stdin: BinaryIO, stdout: BinaryIO, asked: Callable[[str], Asked]) -> int:
    """Serves one editor until it says exit or hangs up; the exit code comes back, 1 for exit before shutdown.

    ``asked`` gives the settings for the path of a file, or raises RequestError.
    """
    waiting = Inbox()
    server = Server(stdout, asked)

    def read() -> None:
        try:
            for message in messages(stdin):
                if isinstance(message, dict) and message.get("method") == "$/cancelRequest":
                    server.cancel(message)
                waiting.put(message)
                if isinstance(message, dict) and message.get("method") == "exit":
                    break  # a thread that waits for bytes that never come would hold up the end
        finally:
            waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    try:
        while server.code is None:
            try:
                message = waiting.get(timeout=server.patience())
            except TimeoutError:
                server.check()
                continue
            if message is None:
                return 0
            server.take(message)
    except BrokenPipeError:
        return 0
    return server.code


class Server:
    """One session. ``code`` is what to exit with, None until the editor says exit."""

    def __init__(self, stdout: BinaryIO, asked: Callable[[str], Asked]) -> None:
        self.code: int | None = None
        self.workspace = Workspace(asked)
        self.encoding = positions.DEFAULT
        self.capabilities: Message = {}
        self.report = Report({}, {}, {}, {})
        self._stdout = stdout
        self._published: set[str] = set()
        self._due: float | None = None
        self._took = 0.0  # seconds, the last check
        self._left_out: dict[str, list[Message]] = {}  # what was said of documents that are, by URI
        self._stage = "new"
        self._cancelled: set[Any] = set()

    # --- the loop

    def patience(self) -> float | None:
        """How long to wait for a message, in seconds; None for ever."""
        return None if self._due is None else max(self._due - time.monotonic(), 0)

    def cancel(self, message: Message) -> None:
        """Notes that a request need not be answered any more; called while others are at work."""
        params = message.get("params")
        id_ = params.get("id") if isinstance(params, dict) else None
        if isinstance(id_, str | int):
            self._cancelled.add(id_)

    def take(self, message: Message | Malformed) -> None:
        """One message: a request is answered, a notification heeded."""
        if isinstance(message, Malformed):
            self._send({"id": None, "error": {"code": PARSE_ERROR, "message": message.reason}})
            return
        method, id_ = message.get("method"), message.get("id")
        if not _is_id(id_):
            told = "an id is a number or a text"
            self._send({"id": None, "error": {"code": INVALID_REQUEST, "message": told}})
            return
        if not isinstance(method, str):
            if "result" not in message and "error" not in message:
                self._send({"id": id_, "error": {"code": INVALID_REQUEST, "message": "no method is named"}})
            return
        is_request = "id" in message
        try:
            result = self._done(method, message.get("params"), id_ if is_request else None, is_request)
        except ResponseError as error:
            self._fail(is_request, method, id_, error.code, str(error))
        except (RequestError, BoundExceeded) as error:
            self._fail(is_request, method, id_, FAILED, str(error))
        except BrokenPipeError:
            raise
        except Exception as error:  # a fault of podplan must not end the session
            self._fail(is_request, method, id_, INTERNAL, _internal(error))
        else:
            if is_request:
                self._send({"id": id_, "result": result})

    def check(self) -> None:
        """Checks the open documents now, and publishes what is found."""
        self._due = None
        began = time.monotonic()
        try:
            self.report = self.workspace.check()
            told = diagnostics(self.report, self.workspace.documents, self.encoding)
        except Exception as error:  # nor here: the next edit is checked again
            self.log(_LOG_ERROR, _internal(error))
            return
        finally:
            self._took = time.monotonic() - began
        documents = self.workspace.documents
        versions = {one.uri: one.version for one in documents.open.values()}
        left_out = {uri: told[uri] for uri in map(documents.uri, self.report.left_out)}
        known = {uri for uri, found in left_out.items() if self._left_out.get(uri) == found}
        self._left_out = left_out
        for uri in (*(uri for uri in told if uri not in known), *(self._published - told.keys())):
            params: Message = {"uri": uri, "diagnostics": told.get(uri, [])}
            if versions.get(uri) is not None:
                params["version"] = versions[uri]
            self.notify("textDocument/publishDiagnostics", params)
        self._published = {uri for uri, found in told.items() if found or uri in versions}

    def checked(self) -> None:
        """Checks now what waits for the end of typing, so that answers are about the text as it is."""
        if self._due is not None:
            self.check()

    def changed(self) -> None:
        """Something changed: it is checked as soon as nothing more changes, for as long as a check takes."""
        self._due = time.monotonic() + min(max(self._took, DEBOUNCE), LONGEST_PAUSE)

    # --- what goes out

    def notify(self, method: str, params: Message) -> None:
        self._send({"method": method, "params": params})

    def log(self, level: int, text: str) -> None:
        self.notify("window/logMessage", {"type": level, "message": f"podplan: {text}"})

    def _fail(self, is_request: bool, method: str, id_: Any, code: int, text: str) -> None:
        if is_request:
            self._send({"id": id_, "error": {"code": code, "message": text}})
        elif not method.startswith("$/"):
            self.log(_LOG_WARNING if code != INTERNAL else _LOG_ERROR, f"{method}: {text}")

    def _send(self, message: Message) -> None:
        self._stdout.write(framed({"jsonrpc": "2.0", **message}))
        self._stdout.flush()

    # --- what comes in

    def _done(self, method: str, params: Any, id_: Any, is_request: bool) -> Any:
        if method == "exit":
            self.code = 0 if self._stage == "over" else 1
            return None
        if is_request and id_ in self._forgotten(id_):
            raise ResponseError(CANCELLED, "cancelled")
        if self._stage == "new" and method != "initialize":
            raise ResponseError(NOT_INITIALIZED, "initialize comes first")
        if self._stage == "over":
            raise ResponseError(INVALID_REQUEST, "the server has been shut down")
        found = _methods().get(method)
        if found is None:
            raise ResponseError(NO_METHOD, f"podplan knows no {method}")
        return found(self, params if isinstance(params, dict) else {})

    def _forgotten(self, id_: Any) -> set[Any]:
        found = {id_} & self._cancelled if isinstance(id_, str | int) else set()
        self._cancelled -= found
        return found

    def initialize(self, params: Message) -> Message:
        if self._stage != "new":
            raise ResponseError(INVALID_REQUEST, "initialize comes only once")
        capabilities = params.get("capabilities")
        self.capabilities = capabilities if isinstance(capabilities, dict) else {}
        general = self.capabilities.get("general")
        offered = general.get("positionEncodings") if isinstance(general, dict) else None
        self.encoding = positions.negotiated(offered)
        self._stage = "open"
        return {
            "capabilities": {
                "positionEncoding": self.encoding,
                "textDocumentSync": {"openClose": True, "change": FULL_TEXT, "save": True},
                "hoverProvider": True,
                "completionProvider": {"triggerCharacters": [":", " ", ".", "/", "{", "["]},
                "definitionProvider": True,
                "documentSymbolProvider": True,
                "codeActionProvider": {"codeActionKinds": ["quickfix", "source.fixAll.podplan"]},
            },
            "serverInfo": {"name": "podplan", "version": __version__},
        }

    def shutdown(self, _params: Message) -> None:
        self._stage = "over"
        self._due = None

    def did_open(self, params: Message) -> None:
        document = mapping(params, "textDocument")
        if self.workspace.documents.put(
            text(document, "uri"), integer(document, "version"), text(document, "text")
        ):
            self.workspace.forget()
            self.changed()

    def did_change(self, params: Message) -> None:
        document, changes = mapping(params, "textDocument"), sequence(params, "contentChanges")
        uri = text(document, "uri")
        if changes and self.workspace.documents.get(uri):
            # The last one is the whole text: that is what FULL_TEXT asks for.
            self.workspace.documents.put(uri, integer(document, "version"), text(changes[-1], "text"))
            self.changed()

    def did_close(self, params: Message) -> None:
        self.workspace.documents.drop(text(mapping(params, "textDocument"), "uri"))
        self.files_changed(params)

    def files_changed(self, _params: Message) -> None:
        self.workspace.forget()
        self.changed()


def _ignored(_server: Server, _params: Message) -> None:
    return None


def _methods() -> dict[str, Callable[[Server, Message], Any]]:
    """The methods by name; what answers questions is imported when the first comes."""
    from podplan.integrations.lsp import requests

    return {
        "initialize": Server.initialize,
        "initialized": _ignored,
        "shutdown": Server.shutdown,
        "$/cancelRequest": _ignored,
        "$/setTrace": _ignored,
        "textDocument/didOpen": Server.did_open,
        "textDocument/didChange": Server.did_change,
        "textDocument/didClose": Server.did_close,
        "textDocument/didSave": Server.files_changed,
        "workspace/didChangeConfiguration": Server.files_changed,
        "workspace/didChangeWatchedFiles": Server.files_changed,
        "workspace/didChangeWorkspaceFolders": Server.files_changed,
        "textDocument/hover": requests.hover,
        "textDocument/completion": requests.completion,
        "textDocument/definition": requests.definition,
        "textDocument/documentSymbol": requests.symbols,
        "textDocument/codeAction": requests.code_actions,
    }


def _frames(error: BaseException) -> Iterator[Any]:
    trace = error.__traceback__
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _is_id(value: Any) -> bool:
    """Whether a message may have this as its id; none has the infinity that Python reads 1e400 as."""
    return value is None or isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))


def _internal(error: Exception) -> str:
    """A fault of podplan itself, in a sentence without a traceback, and without what it may quote."""
    last = [*_frames(error)][-1]
    module = last.tb_frame.f_globals.get("__name__", "?")
    return f"internal error in {module}, line {last.tb_lineno}: {type(error).__name__}"
