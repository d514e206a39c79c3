"""What expressions read, what they may come to, and the Fault of those that come to nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from podplan.core.limits import MAX_EXPRESSION_RESULT, beyond
from podplan.core.suggestions import meant_or_known
from podplan.core.typing import Any, NamedTuple

ROOTS = ("params", "matrix", "environment", "metadata", "inventory")
_KINDS: dict[type, str] = {
    str: "text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "a map",
}


class Fault(Exception):
    """Why an expression has no value: a rule and a sentence."""

    def __init__(self, message: str, rule: str = "PROF008") -> None:
        super().__init__(message)
        self.rule = rule


class TooMuch(Fault):
    """An expression that reaches one of the limits."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(beyond(limit, message), "PROF017")


def too_long() -> TooMuch:
    return TooMuch("expression-result", f"the result has more than {MAX_EXPRESSION_RESULT} characters")


class Expression(NamedTuple):
    """An expression that may be worked out.

    ``reads`` are the names in it with their first steps; ``run`` gives its value from the values of the
    names, or raises Fault.
    """

    source: str
    reads: tuple[tuple[str, str | None], ...]
    run: Callable[[Mapping[str, Any]], Any]


def nothing_at(value: Any, step: Any) -> str:
    """The sentence for a step that leads nowhere."""
    if isinstance(value, dict):
        return f'there is no "{step}"{meant_or_known(str(step), value)}'
    return f'there is no "{step}" in {_KINDS.get(type(value), "nothing")}'


def settled(value: Any) -> Any:
    """``value`` if it may stand in a profile; raises Fault."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Fault("the result is not text that UTF-8 can hold") from None
    elif isinstance(value, int) and not isinstance(value, bool):
        if not -(2**63) <= value < 2**64:
            raise Fault("the result is a number of more than 64 bits")
    elif isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise Fault("the result is not a finite number")
    elif isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            settled(entry)
    elif value is not None and not isinstance(value, bool):
        raise Fault("the result is not a value that YAML can hold")
    if isinstance(value, str | dict | list):
        size(value)
    return value


def size(value: Any) -> int:
    """About how many characters ``value`` takes; raises Fault for too many."""
    total, left = 0, [value]
    while left:
        node = left.pop()
        total += len(node) if isinstance(node, str) else 1
        if total > MAX_EXPRESSION_RESULT:
            raise too_long()
        if isinstance(node, dict):
            left.extend(node)
            left.extend(node.values())
        elif isinstance(node, list):
            left.extend(node)
    return total


def as_text(value: Any) -> str:
    """A scalar as it stands inside text, spelled as in YAML; raises Fault for anything else."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, dict | list):
        raise Fault(
            f"{_KINDS.get(type(value), 'null')} cannot stand inside text; use a filter such as join or tojson"
        )
    return json.dumps(value)
