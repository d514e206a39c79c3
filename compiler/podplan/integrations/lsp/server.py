"""The server: processes messages one after the other, and checks documents when typing pauses.

A thread reads, so that a check can wait for the next keystroke. An error in a request is its response, or a
line in the log of the editor; it never ends the server.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from math import isfinite

from podplan import __version__
from podplan.core.errors import UsageError, describe_internal_error
from podplan.core.limits import LimitExceeded
from podplan.core.typing import Any, BinaryIO
from podplan.integrations.lsp import positions
from podplan.integrations.lsp.diagnostics import build_diagnostics
from podplan.integrations.lsp.framing import MalformedMessage, frame_message, read_messages
from podplan.integrations.lsp.inbox import Inbox
from podplan.integrations.lsp.params import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_CANCELLED,
    REQUEST_FAILED,
    SERVER_NOT_INITIALIZED,
    ResponseError,
    read_integer,
    require_mapping,
    require_sequence,
    require_text,
)
from podplan.integrations.lsp.workspace import CheckReport, FileSettings, Workspace

DEBOUNCE = 0.2  # seconds without a keystroke
MAX_DEBOUNCE = 2.0
FULL_SYNC = 1
_LOG_ERROR, _LOG_WARNING = 1, 2

Message = dict[str, Any]


def serve(stdin: BinaryIO, stdout: BinaryIO, resolve_settings: Callable[[str], FileSettings]) -> int:
    """Serve one editor until ``exit`` or the end of its stream; return the exit code, 1 for exit before
    shutdown.

    ``resolve_settings`` returns the settings for the path of a file, or raises UsageError.
    """
    inbox = Inbox()
    server = LanguageServer(stdout, resolve_settings)

    def read() -> None:
        try:
            for message in read_messages(stdin):
                if isinstance(message, dict) and message.get("method") == "$/cancelRequest":
                    server.cancel(message)
                inbox.put(message)
                if isinstance(message, dict) and message.get("method") == "exit":
                    break  # otherwise the thread would wait for input that never comes
        finally:
            inbox.put(None)

    threading.Thread(target=read, daemon=True).start()
    try:
        while server.code is None:
            try:
                message = inbox.get(timeout=server.compute_timeout())
            except TimeoutError:
                server.check_documents()
                continue
            if message is None:
                return 0
            server.handle_message(message)
    except BrokenPipeError:
        return 0
    return server.code


class LanguageServer:
    """One session. ``code`` is the exit code, None until the editor sends ``exit``."""

    def __init__(self, stdout: BinaryIO, resolve_settings: Callable[[str], FileSettings]) -> None:
        self.code: int | None = None
        self.workspace = Workspace(resolve_settings)
        self.encoding = positions.DEFAULT_ENCODING
        self.capabilities: Message = {}
        self.report = CheckReport({}, {}, {}, {})
        self._stdout = stdout
        self._published: set[str] = set()
        self._check_due_at: float | None = None
        self._last_check_seconds = 0.0  # duration of the last check in seconds
        self._skipped_diagnostics: dict[str, list[Message]] = {}  # published diagnostics, by URI
        self._stage = "new"
        self._cancelled: set[Any] = set()

    # --- message loop

    def compute_timeout(self) -> float | None:
        """Return how long to wait for a message, in seconds; None for no limit."""
        return None if self._check_due_at is None else max(self._check_due_at - time.monotonic(), 0)

    def cancel(self, message: Message) -> None:
        """Record that a request is cancelled; called from the reading thread."""
        params = message.get("params")
        id_ = params.get("id") if isinstance(params, dict) else None
        if isinstance(id_, str | int):
            self._cancelled.add(id_)

    def handle_message(self, message: Message | MalformedMessage) -> None:
        """Process one message: respond to a request, handle a notification."""
        if isinstance(message, MalformedMessage):
            self._send({"id": None, "error": {"code": PARSE_ERROR, "message": message.reason}})
            return
        method, id_ = message.get("method"), message.get("id")
        if not _is_id(id_):
            error_text = "an id is a number or a text"
            self._send({"id": None, "error": {"code": INVALID_REQUEST, "message": error_text}})
            return
        if not isinstance(method, str):
            if "result" not in message and "error" not in message:
                self._send({"id": id_, "error": {"code": INVALID_REQUEST, "message": "no method is named"}})
            return
        is_request = "id" in message
        try:
            result = self._dispatch(method, message.get("params"), id_ if is_request else None, is_request)
        except ResponseError as error:
            self._send_error(is_request, method, id_, error.code, str(error))
        except (UsageError, LimitExceeded) as error:
            self._send_error(is_request, method, id_, REQUEST_FAILED, str(error))
        except BrokenPipeError:
            raise
        except Exception as error:  # an internal error must not end the session
            self._send_error(is_request, method, id_, INTERNAL_ERROR, describe_internal_error(error))
        else:
            if is_request:
                self._send({"id": id_, "result": result})

    def check_documents(self) -> None:
        """Check the open documents now, and publish the diagnostics."""
        self._check_due_at = None
        began = time.monotonic()
        try:
            self.report = self.workspace.check()
            diagnostics_by_uri = build_diagnostics(self.report, self.workspace.documents, self.encoding)
        except Exception as error:  # nor here: the next edit is checked again
            self.log(_LOG_ERROR, describe_internal_error(error))
            return
        finally:
            self._last_check_seconds = time.monotonic() - began
        documents = self.workspace.documents
        versions = {one.uri: one.version for one in documents.by_path.values()}
        left_out = {uri: diagnostics_by_uri[uri] for uri in map(documents.uri, self.report.skipped)}
        unchanged = {uri for uri, found in left_out.items() if self._skipped_diagnostics.get(uri) == found}
        self._skipped_diagnostics = left_out
        for uri in (
            *(uri for uri in diagnostics_by_uri if uri not in unchanged),
            *(self._published - diagnostics_by_uri.keys()),
        ):
            params: Message = {"uri": uri, "diagnostics": diagnostics_by_uri.get(uri, [])}
            if versions.get(uri) is not None:
                params["version"] = versions[uri]
            self.notify("textDocument/publishDiagnostics", params)
        self._published = {uri for uri, found in diagnostics_by_uri.items() if found or uri in versions}

    def flush_check(self) -> None:
        """Run a pending check now, so that responses are about the current text."""
        if self._check_due_at is not None:
            self.check_documents()

    def schedule_check(self) -> None:
        """Schedule a check after a change: when there was no further change for as long as a check takes."""
        self._check_due_at = time.monotonic() + min(max(self._last_check_seconds, DEBOUNCE), MAX_DEBOUNCE)

    # --- outgoing messages

    def notify(self, method: str, params: Message) -> None:
        self._send({"method": method, "params": params})

    def log(self, level: int, text: str) -> None:
        self.notify("window/logMessage", {"type": level, "message": f"podplan: {text}"})

    def _send_error(self, is_request: bool, method: str, id_: Any, code: int, text: str) -> None:
        if is_request:
            self._send({"id": id_, "error": {"code": code, "message": text}})
        elif not method.startswith("$/"):
            self.log(_LOG_WARNING if code != INTERNAL_ERROR else _LOG_ERROR, f"{method}: {text}")

    def _send(self, message: Message) -> None:
        self._stdout.write(frame_message({"jsonrpc": "2.0", **message}))
        self._stdout.flush()

    # --- incoming messages

    def _dispatch(self, method: str, params: Any, id_: Any, is_request: bool) -> Any:
        if method == "exit":
            self.code = 0 if self._stage == "over" else 1
            return None
        if is_request and id_ in self._take_cancelled(id_):
            raise ResponseError(REQUEST_CANCELLED, "cancelled")
        if self._stage == "new" and method != "initialize":
            raise ResponseError(SERVER_NOT_INITIALIZED, "initialize comes first")
        if self._stage == "over":
            raise ResponseError(INVALID_REQUEST, "the server has been shut down")
        handler = _build_methods().get(method)
        if handler is None:
            raise ResponseError(METHOD_NOT_FOUND, f"podplan knows no {method}")
        return handler(self, params if isinstance(params, dict) else {})

    def _take_cancelled(self, id_: Any) -> set[Any]:
        cancelled = {id_} & self._cancelled if isinstance(id_, str | int) else set()
        self._cancelled -= cancelled
        return cancelled

    def initialize(self, params: Message) -> Message:
        if self._stage != "new":
            raise ResponseError(INVALID_REQUEST, "initialize comes only once")
        capabilities = params.get("capabilities")
        self.capabilities = capabilities if isinstance(capabilities, dict) else {}
        general = self.capabilities.get("general")
        offered = general.get("positionEncodings") if isinstance(general, dict) else None
        self.encoding = positions.negotiate_encoding(offered)
        self._stage = "open"
        return {
            "capabilities": {
                "positionEncoding": self.encoding,
                "textDocumentSync": {"openClose": True, "change": FULL_SYNC, "save": True},
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
        self._check_due_at = None

    def did_open(self, params: Message) -> None:
        document = require_mapping(params, "textDocument")
        if self.workspace.documents.put(
            require_text(document, "uri"), read_integer(document, "version"), require_text(document, "text")
        ):
            self.workspace.invalidate()
            self.schedule_check()

    def did_change(self, params: Message) -> None:
        document, changes = (
            require_mapping(params, "textDocument"),
            require_sequence(params, "contentChanges"),
        )
        uri = require_text(document, "uri")
        if changes and self.workspace.documents.get(uri):
            # The last change has the complete text, because the server requests FULL_TEXT.
            self.workspace.documents.put(
                uri, read_integer(document, "version"), require_text(changes[-1], "text")
            )
            self.schedule_check()

    def did_close(self, params: Message) -> None:
        self.workspace.documents.remove(require_text(require_mapping(params, "textDocument"), "uri"))
        self.did_change_files(params)

    def did_change_files(self, _params: Message) -> None:
        self.workspace.invalidate()
        self.schedule_check()


def _ignore_message(_server: LanguageServer, _params: Message) -> None:
    return None


def _build_methods() -> dict[str, Callable[[LanguageServer, Message], Any]]:
    """Return the methods by name; modules for requests are imported at the first one."""
    from podplan.integrations.lsp import requests

    return {
        "initialize": LanguageServer.initialize,
        "initialized": _ignore_message,
        "shutdown": LanguageServer.shutdown,
        "$/cancelRequest": _ignore_message,
        "$/setTrace": _ignore_message,
        "textDocument/didOpen": LanguageServer.did_open,
        "textDocument/didChange": LanguageServer.did_change,
        "textDocument/didClose": LanguageServer.did_close,
        "textDocument/didSave": LanguageServer.did_change_files,
        "workspace/didChangeConfiguration": LanguageServer.did_change_files,
        "workspace/didChangeWatchedFiles": LanguageServer.did_change_files,
        "workspace/didChangeWorkspaceFolders": LanguageServer.did_change_files,
        "textDocument/hover": requests.handle_hover,
        "textDocument/completion": requests.handle_completion,
        "textDocument/definition": requests.handle_definition,
        "textDocument/documentSymbol": requests.handle_symbols,
        "textDocument/codeAction": requests.handle_code_actions,
        "podplan/lower": requests.handle_lower,
        "podplan/graph": requests.handle_graph,
    }


def _is_id(value: Any) -> bool:
    """Whether a value is a valid id of a message; infinity, which Python parses from 1e400, is not."""
    return value is None or isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))
