"""Params of requests as they must be, the errors for those that are not, and the codes of all errors."""

from __future__ import annotations

from podplan.core.typing import Any

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
NOT_INITIALIZED, CANCELLED, FAILED = -32002, -32800, -32803


class ResponseError(Exception):
    """The answer to a request that cannot be done."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def mapping(params: Any, key: str) -> dict[str, Any]:
    """The object under a key. Raises ResponseError, as all here."""
    found = params.get(key) if isinstance(params, dict) else None
    if not isinstance(found, dict):
        raise _wrong(key, "an object")
    return found


def sequence(params: Any, key: str) -> list[Any]:
    """The array under a key."""
    found = params.get(key) if isinstance(params, dict) else None
    if not isinstance(found, list):
        raise _wrong(key, "an array")
    return found


def text(params: Any, key: str) -> str:
    """The string under a key."""
    found = params.get(key) if isinstance(params, dict) else None
    if not isinstance(found, str):
        raise _wrong(key, "a string")
    return found


def integer(params: Any, key: str) -> int | None:
    """The whole number under a key, None where it is null or missing."""
    found = params.get(key) if isinstance(params, dict) else None
    if found is not None and (not isinstance(found, int) or isinstance(found, bool)):
        raise _wrong(key, "a whole number")
    return found


def position(params: Any, key: str) -> tuple[int, int]:
    """Line and character of the position under a key."""
    where = mapping(params, key)
    line, character = integer(where, "line"), integer(where, "character")
    if line is None or character is None or line < 0 or character < 0:
        raise _wrong(key, "a position with line and character")
    return line, character


def _wrong(key: str, wanted: str) -> ResponseError:
    return ResponseError(INVALID_PARAMS, f"params: {key} must be {wanted}")
