"""Values on their way into CEL: what JSON can hold, no deeper and no larger than the bounds."""

from __future__ import annotations

import math

from podplan.core.limits import MAX_CEL_NODES, MAX_CEL_TEXT, MAX_DEPTH, LimitExceeded, limit_exceeded
from podplan.core.typing import Any

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def copy_within_limits(value: Any) -> Any:
    """A copy of plain data that CEL can be handed: no cycles, and integers as the API server decodes them.

    An integer beyond 64 bits is a float there (https://pkg.go.dev/k8s.io/apimachinery/pkg/util/json).
    Raises LimitExceeded for what is nested too deep, as anything that contains itself is, or has too many
    parts.
    """
    return _copy_value(value, 0, [MAX_CEL_NODES, MAX_CEL_TEXT])


def _copy_value(value: Any, depth: int, remaining: list[int]) -> Any:
    remaining[0] -= 1
    if remaining[0] < 0:
        message = f"a document for CEL has more than {MAX_CEL_NODES} parts; split it"
        raise LimitExceeded(limit_exceeded("cel-nodes", message))
    if depth > MAX_DEPTH:
        raise LimitExceeded(f"a document for CEL is nested deeper than {MAX_DEPTH} levels; flatten it")
    if isinstance(value, dict):
        return {str(key): _copy_value(part, depth + 1, remaining) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_copy_value(part, depth + 1, remaining) for part in value]
    if isinstance(value, str):
        remaining[1] -= len(value)
        if remaining[1] < 0:
            message = f"a document for CEL has more than {MAX_CEL_TEXT} characters; split it"
            raise LimitExceeded(limit_exceeded("cel-text", message))
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if _SMALLEST <= value <= _LARGEST else _to_float(value)
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise LimitExceeded("a document for CEL holds a number that JSON cannot hold; write it as text")


def _to_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        raise LimitExceeded("a document for CEL holds a number beyond the range of floats") from None
