"""The queue of messages for the server, which keeps only the last of successive changes of a document."""

from __future__ import annotations

import threading
from collections import deque

from podplan.core.typing import Any
from podplan.integrations.lsp.framing import MalformedMessage

Message = dict[str, Any]


class Inbox:
    """A queue between two threads; a change of a document replaces the previous change.

    Each change has the complete text, so an editor that is faster than the server does not fill the memory.
    """

    def __init__(self) -> None:
        self._waiting: deque[Message | MalformedMessage | None] = deque()
        self._condition = threading.Condition()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, message: Message | MalformedMessage | None) -> None:
        """Add a message; None is the end."""
        with self._condition:
            document = _find_changed_document(message)
            if (
                document is not None
                and self._waiting
                and _find_changed_document(self._waiting[-1]) == document
            ):
                self._waiting.pop()
            self._waiting.append(message)
            self._condition.notify()

    def get(self, timeout: float | None) -> Message | MalformedMessage | None:
        """Return the next message. Raises TimeoutError: if there is none within ``timeout`` seconds."""
        with self._condition:
            if not self._condition.wait_for(lambda: self._waiting, timeout):
                raise TimeoutError
            return self._waiting.popleft()


def _find_changed_document(message: Message | MalformedMessage | None) -> str | None:
    """Return the document whose text a message changes, None for any other message."""
    if not isinstance(message, dict) or message.get("method") != "textDocument/didChange" or "id" in message:
        return None
    params = message.get("params")
    document = params.get("textDocument") if isinstance(params, dict) else None
    changes = params.get("contentChanges") if isinstance(params, dict) else None
    last = changes[-1] if isinstance(changes, list) and changes else None
    uri = document.get("uri") if isinstance(document, dict) else None
    is_full_text = isinstance(uri, str) and isinstance(last, dict) and isinstance(last.get("text"), str)
    return uri if is_full_text else None
