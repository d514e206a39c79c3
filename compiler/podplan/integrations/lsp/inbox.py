"""The messages that wait for the server: of texts that follow on one another, only the last."""

from __future__ import annotations

import threading
from collections import deque

from podplan.core.typing import Any
from podplan.integrations.lsp.framing import Malformed

Message = dict[str, Any]


class Inbox:
    """A queue between two threads; a change of a document takes the place of the change before it.

    Each has the whole text, so an editor that is faster than the server fills no memory.
    """

    def __init__(self) -> None:
        self._waiting: deque[Message | Malformed | None] = deque()
        self._came = threading.Condition()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, message: Message | Malformed | None) -> None:
        """Adds a message; None is the end."""
        with self._came:
            document = _changed(message)
            if document is not None and self._waiting and _changed(self._waiting[-1]) == document:
                self._waiting.pop()
            self._waiting.append(message)
            self._came.notify()

    def get(self, timeout: float | None) -> Message | Malformed | None:
        """The next message. Raises TimeoutError where none comes within ``timeout`` seconds."""
        with self._came:
            if not self._came.wait_for(lambda: self._waiting, timeout):
                raise TimeoutError
            return self._waiting.popleft()


def _changed(message: Message | Malformed | None) -> str | None:
    """The document that a message gives a new text, None for any other message."""
    if not isinstance(message, dict) or message.get("method") != "textDocument/didChange" or "id" in message:
        return None
    params = message.get("params")
    document = params.get("textDocument") if isinstance(params, dict) else None
    changes = params.get("contentChanges") if isinstance(params, dict) else None
    last = changes[-1] if isinstance(changes, list) and changes else None
    uri = document.get("uri") if isinstance(document, dict) else None
    whole = isinstance(uri, str) and isinstance(last, dict) and isinstance(last.get("text"), str)
    return uri if whole else None
