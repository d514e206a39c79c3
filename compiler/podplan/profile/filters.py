"""The filters of expressions, each bounded in what it makes and strict in what it takes."""

from __future__ import annotations

import json
from collections.abc import Callable

from jinja2 import Undefined

from podplan.core.limits import MAX_EXPRESSION_RESULT
from podplan.core.typing import Any, NoReturn
from podplan.profile.values import Fault, as_text, settled, size, too_long


def is_number(value: Any) -> bool:
    """Whether arithmetic may work on ``value``; a boolean is not a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def fail(value: Undefined) -> NoReturn:
    """Raises the Fault of a name that leads nowhere."""
    raise Fault(value._undefined_message, "PROF009")


def _default(value: Any, fallback: Any) -> Any:
    return fallback if isinstance(value, Undefined) or value is None else value


def _int(value: Any) -> int:
    if isinstance(value, str):
        if len(value) > 64:
            raise Fault("the text is too long for a number")
        try:
            return int(value)
        except ValueError:
            raise Fault(f'"{value}" is not a whole number') from None
    if not is_number(value):
        raise Fault("int takes text or a number")
    return int(value)


def _float(value: Any) -> float:
    if isinstance(value, str) and len(value) <= 64:
        try:
            return float(value)
        except ValueError:
            raise Fault(f'"{value}" is not a number') from None
    if not is_number(value):
        raise Fault("float takes text or a number")
    return float(value)


def _replace(value: Any, old: Any, new: Any) -> str:
    text, old, new = as_text(value), as_text(old), as_text(new)
    if not old:
        raise Fault("replace needs the text that it replaces")
    if len(text) + text.count(old) * (len(new) - len(old)) > MAX_EXPRESSION_RESULT:
        raise too_long()
    return text.replace(old, new)


def _join(value: Any, separator: Any = "") -> str:
    if not isinstance(value, list):
        raise Fault("join takes a list")
    parts, between = [as_text(entry) for entry in value], as_text(separator)
    if sum(map(len, parts)) + len(between) * len(parts) > MAX_EXPRESSION_RESULT:
        raise too_long()
    return between.join(parts)


def _round(value: Any, digits: Any = 0) -> Any:
    if not is_number(value) or type(digits) is not int or not 0 <= digits <= 15:
        raise Fault("round takes a number, and how many digits stay (0 to 15)")
    return round(value, digits) if digits else round(value)


def _tojson(value: Any) -> str:
    size(value)
    return json.dumps(settled(value), sort_keys=True, ensure_ascii=False, separators=(", ", ": "))


def _extreme(choose: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def filtered(value: Any) -> Any:
        if not isinstance(value, list) or not value:
            raise Fault(f"{choose.__name__} takes a list that is not empty")
        return choose(value)

    return filtered


def _length(value: Any) -> int:
    if not isinstance(value, str | list | dict):
        raise Fault("length takes text, a list or a map")
    return len(value)


def _abs(value: Any) -> Any:
    if not is_number(value):
        raise Fault("abs takes a number")
    return abs(value)


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that refuses what is not there."""

    def filtered(*arguments: Any) -> Any:
        for argument in arguments:
            if isinstance(argument, Undefined):
                fail(argument)
        return function(*arguments)

    return filtered


_NEEDS_VALUES: dict[str, Callable[..., Any]] = {
    "int": _int,
    "float": _float,
    "string": as_text,
    "lower": lambda value: as_text(value).lower(),
    "upper": lambda value: as_text(value).upper(),
    "replace": _replace,
    "join": _join,
    "round": _round,
    "tojson": _tojson,
    "min": _extreme(min),
    "max": _extreme(max),
    "length": _length,
    "abs": _abs,
}
FILTERS: dict[str, Callable[..., Any]] = {
    "default": _default,
    **{name: _strict(function) for name, function in _NEEDS_VALUES.items()},
}
