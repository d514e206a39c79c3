"""The values and results of expressions, and the error of those without a value."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from podplan.core.limits import MAX_EXPRESSION_RESULT, limit_exceeded
from podplan.core.suggestions import suggest_or_list
from podplan.core.typing import Any, NamedTuple

ROOTS = ("params", "matrix", "environment", "metadata", "inventory")
_TYPE_NAMES: dict[type, str] = {
    str: "text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "a map",
}


class ProfileExpressionError(Exception):
    """The reason why an expression has no value: a rule and a sentence."""

    def __init__(self, message: str, rule: str = "PROF008") -> None:
        super().__init__(message)
        self.rule = rule


class ExpressionLimitExceeded(ProfileExpressionError):
    """An expression that exceeds one of the limits."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(limit_exceeded(limit, message), "PROF017")


def build_length_error() -> ExpressionLimitExceeded:
    return ExpressionLimitExceeded(
        "expression-result", f"the result has more than {MAX_EXPRESSION_RESULT} characters"
    )


class Expression(NamedTuple):
    """An expression that passed the checks.

    ``reads`` are the names in it with their first steps; ``evaluate`` returns its value from the values of
    the names, or raises ProfileExpressionError.
    """

    source: str
    reads: tuple[tuple[str, str | None], ...]
    evaluate: Callable[[Mapping[str, Any]], Any]


def explain_missing_step(value: Any, step: Any) -> str:
    """Return the sentence for a step that does not exist."""
    if isinstance(value, dict):
        return f'there is no "{step}"{suggest_or_list(str(step), value)}'
    return f'there is no "{step}" in {_TYPE_NAMES.get(type(value), "nothing")}'


def require_plain_value(value: Any) -> Any:
    """Return ``value`` if a profile can contain it. Raises ProfileExpressionError: if not."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ProfileExpressionError("the result is not text that UTF-8 can hold") from None
    elif isinstance(value, int) and not isinstance(value, bool):
        if not -(2**63) <= value < 2**64:
            raise ProfileExpressionError("the result is a number of more than 64 bits")
    elif isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ProfileExpressionError("the result is not a finite number")
    elif isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            require_plain_value(entry)
    elif value is not None and not isinstance(value, bool):
        raise ProfileExpressionError("the result is not a value that YAML can hold")
    if isinstance(value, str | dict | list):
        measure_size(value)
    return value


def measure_size(value: Any) -> int:
    """Return approximately how many characters ``value`` takes.

    Raises ProfileExpressionError: for too many.
    """
    total, pending = 0, [value]
    while pending:
        node = pending.pop()
        total += len(node) if isinstance(node, str) else 1
        if total > MAX_EXPRESSION_RESULT:
            raise build_length_error()
        if isinstance(node, dict):
            pending.extend(node)
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
    return total


def to_text(value: Any) -> str:
    """Format a scalar inside text, spelled as in YAML. Raises ProfileExpressionError: for any other value."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, dict | list):
        raise ProfileExpressionError(
            f"{_TYPE_NAMES.get(type(value), 'null')} cannot stand inside text; use a filter such as join or"
            " tojson"
        )
    return json.dumps(value)
