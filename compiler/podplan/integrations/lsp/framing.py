"""Framing of JSON-RPC messages with headers in a byte stream (LSP 3.17, "Base Protocol").

Malformed input is reported, and reading continues at the next header: a JSON body never contains
``Content-Length: N`` at the end of a line, because line breaks in its strings are escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from podplan.core.limits import MAX_MESSAGE_BYTES
from podplan.core.typing import Any, BinaryIO, NamedTuple

_LENGTH_HEADER = re.compile(rb"Content-Length:[ \t]*([0-9]{1,20})[ \t]*\r?\n\Z", re.IGNORECASE)
_MAX_LINE = 8192
_HEADER_OVERLAP = 64  # overlap of the chunks of a long line, for a header across their boundary


class MalformedMessage(NamedTuple):
    """Bytes that are no message, with the reason in a sentence."""

    reason: str


def read_messages(stream: BinaryIO) -> Iterator[dict[str, Any] | MalformedMessage]:
    """Yield the messages of a stream until it ends; invalid input raises nothing."""
    length: int | None = None
    is_lost, line_tail = False, b""
    while line := stream.readline(_MAX_LINE):
        header = _LENGTH_HEADER.search(line_tail + line)
        line_tail = b"" if line.endswith(b"\n") else line[-_HEADER_OVERLAP:]
        if header:
            length = int(header[1])
            if length > MAX_MESSAGE_BYTES:
                yield MalformedMessage(f"a message of {length} bytes: at most {MAX_MESSAGE_BYTES} are read")
                length, is_lost = None, False
        elif line not in (b"\r\n", b"\n"):
            is_lost = is_lost or not line.lower().startswith(b"content-type:")
        elif length is not None:
            body = stream.read(length)
            if len(body) < length:
                return
            yield _parse_body(body)
            length, is_lost = None, False
        elif is_lost:
            yield MalformedMessage("a message without Content-Length")
            is_lost = False


def _parse_body(body: bytes) -> dict[str, Any] | MalformedMessage:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return MalformedMessage("a message that is not JSON")
    return message if isinstance(message, dict) else MalformedMessage("a message that is not a JSON object")


def frame_message(message: dict[str, Any]) -> bytes:
    """Return a message with its header; half of a surrogate pair becomes a question mark."""
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
