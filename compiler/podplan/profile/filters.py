"""The filters of expressions, each with a limit on its result and strict about its input."""

from __future__ import annotations

import json
from collections.abc import Callable

from jinja2 import Undefined

from podplan.core.limits import MAX_EXPRESSION_RESULT
from podplan.core.typing import Any, NoReturn
from podplan.profile.values import (
    ProfileExpressionError,
    build_length_error,
    measure_size,
    require_plain_value,
    to_text,
)


def is_number(value: Any) -> bool:
    """Whether ``value`` is a number; a boolean is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def raise_undefined(value: Undefined) -> NoReturn:
    """Raise the ProfileExpressionError of a name that does not exist."""
    raise ProfileExpressionError(value._undefined_message, "PROF009")


def _default_filter(value: Any, fallback: Any) -> Any:
    return fallback if isinstance(value, Undefined) or value is None else value


def _int_filter(value: Any) -> int:
    if isinstance(value, str):
        if len(value) > 64:
            raise ProfileExpressionError("the text is too long for a number")
        try:
            return int(value)
        except ValueError:
            raise ProfileExpressionError(f'"{value}" is not a whole number') from None
    if not is_number(value):
        raise ProfileExpressionError("int takes text or a number")
    return int(value)


def _float_filter(value: Any) -> float:
    if isinstance(value, str) and len(value) <= 64:
        try:
            return float(value)
        except ValueError:
            raise ProfileExpressionError(f'"{value}" is not a number') from None
    if not is_number(value):
        raise ProfileExpressionError("float takes text or a number")
    return float(value)


def _replace_filter(value: Any, old: Any, new: Any) -> str:
    text, old, new = to_text(value), to_text(old), to_text(new)
    if not old:
        raise ProfileExpressionError("replace needs the text that it replaces")
    if len(text) + text.count(old) * (len(new) - len(old)) > MAX_EXPRESSION_RESULT:
        raise build_length_error()
    return text.replace(old, new)


def _join_filter(value: Any, separator: Any = "") -> str:
    if not isinstance(value, list):
        raise ProfileExpressionError("join takes a list")
    parts, separator_text = [to_text(entry) for entry in value], to_text(separator)
    if sum(map(len, parts)) + len(separator_text) * len(parts) > MAX_EXPRESSION_RESULT:
        raise build_length_error()
    return separator_text.join(parts)


def _round_filter(value: Any, digits: Any = 0) -> Any:
    if not is_number(value) or type(digits) is not int or not 0 <= digits <= 15:
        raise ProfileExpressionError("round takes a number, and how many digits stay (0 to 15)")
    return round(value, digits) if digits else round(value)


def _tojson_filter(value: Any) -> str:
    measure_size(value)
    return json.dumps(require_plain_value(value), sort_keys=True, ensure_ascii=False, separators=(", ", ": "))


def _build_extreme_filter(choose: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def extreme_filter(value: Any) -> Any:
        if not isinstance(value, list) or not value:
            raise ProfileExpressionError(f"{choose.__name__} takes a list that is not empty")
        return choose(value)

    return extreme_filter


def _length_filter(value: Any) -> int:
    if not isinstance(value, str | list | dict):
        raise ProfileExpressionError("length takes text, a list or a map")
    return len(value)


def _abs_filter(value: Any) -> Any:
    if not is_number(value):
        raise ProfileExpressionError("abs takes a number")
    return abs(value)


def _require_defined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a filter so that it rejects undefined values."""

    def strict_filter(*arguments: Any) -> Any:
        for argument in arguments:
            if isinstance(argument, Undefined):
                raise_undefined(argument)
        return function(*arguments)

    return strict_filter


_STRICT_FILTERS: dict[str, Callable[..., Any]] = {
    "int": _int_filter,
    "float": _float_filter,
    "string": to_text,
    "lower": lambda value: to_text(value).lower(),
    "upper": lambda value: to_text(value).upper(),
    "replace": _replace_filter,
    "join": _join_filter,
    "round": _round_filter,
    "tojson": _tojson_filter,
    "min": _build_extreme_filter(min),
    "max": _build_extreme_filter(max),
    "length": _length_filter,
    "abs": _abs_filter,
}
FILTERS: dict[str, Callable[..., Any]] = {
    "default": _default_filter,
    **{name: _require_defined(function) for name, function in _STRICT_FILTERS.items()},
}
