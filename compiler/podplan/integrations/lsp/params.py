"""Validation of request params, and the error codes."""

from __future__ import annotations

from podplan.core.typing import Any

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = (
    -32700,
    -32600,
    -32601,
    -32602,
    -32603,
)
SERVER_NOT_INITIALIZED, REQUEST_CANCELLED, REQUEST_FAILED = -32002, -32800, -32803


class ResponseError(Exception):
    """An error response to a request."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def require_mapping(params: Any, key: str) -> dict[str, Any]:
    """Return the object under a key. All functions here raise ResponseError for invalid params."""
    value = params.get(key) if isinstance(params, dict) else None
    if not isinstance(value, dict):
        raise _build_error(key, "an object")
    return value


def require_sequence(params: Any, key: str) -> list[Any]:
    """Return the array under a key."""
    value = params.get(key) if isinstance(params, dict) else None
    if not isinstance(value, list):
        raise _build_error(key, "an array")
    return value


def require_text(params: Any, key: str) -> str:
    """Return the string under a key."""
    value = params.get(key) if isinstance(params, dict) else None
    if not isinstance(value, str):
        raise _build_error(key, "a string")
    return value


def read_integer(params: Any, key: str) -> int | None:
    """Return the integer under a key, None if it is null or missing."""
    value = params.get(key) if isinstance(params, dict) else None
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise _build_error(key, "a whole number")
    return value


def require_position(params: Any, key: str) -> tuple[int, int]:
    """Return line and character of the position under a key."""
    position_params = require_mapping(params, key)
    line, character = read_integer(position_params, "line"), read_integer(position_params, "character")
    if line is None or character is None or line < 0 or character < 0:
        raise _build_error(key, "a position with line and character")
    return line, character


def _build_error(key: str, expected: str) -> ResponseError:
    return ResponseError(INVALID_PARAMS, f"params: {key} must be {expected}")
