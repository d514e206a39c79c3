"""sum, min, max, isSorted, indexOf and lastIndexOf: https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#Lists."""

from __future__ import annotations

from datetime import datetime, timedelta

from podplan.core.typing import Any
from podplan.lint.cel.functions import Overload

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def _find_comparison_kind(value: Any) -> str:
    """What a value can be compared with."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return type(value).__name__


def _require_comparable(values: list[Any], name: str) -> list[Any]:
    kinds = {_find_comparison_kind(value) for value in values}
    if len(kinds) > 1 or kinds & {"dict", "list", "NoneType"}:
        raise ValueError(f"{name}() wants a list of numbers, texts, times or booleans, all of one type")
    return values


def _require_returnable(value: Any, name: str) -> Any:
    if isinstance(value, datetime | timedelta):
        raise ValueError(f"podplan does not support {name}() over durations and timestamps")
    return value


def _sum_values(values: list[Any]) -> Any:
    if {_find_comparison_kind(value) for value in _require_comparable(values, "sum")} - {
        "number",
        "timedelta",
    }:
        raise ValueError("sum() wants a list of numbers")
    _require_returnable(values[0] if values else 0, "sum")
    total = sum(values)
    if isinstance(total, int) and not _SMALLEST <= total <= _LARGEST:
        raise ValueError("sum() goes beyond 64 bits")
    return total


def _find_minimum(values: list[Any]) -> Any:
    if not values:
        raise ValueError("min() of an empty list")
    return _require_returnable(min(_require_comparable(values, "min")), "min")


def _find_maximum(values: list[Any]) -> Any:
    if not values:
        raise ValueError("max() of an empty list")
    return _require_returnable(max(_require_comparable(values, "max")), "max")


def _is_sorted(values: list[Any]) -> bool:
    _require_comparable(values, "isSorted")
    return all(not values[at + 1] < values[at] for at in range(len(values) - 1))


def _is_equal(left: Any, right: Any) -> bool:
    """Whether CEL calls two values equal: true is not 1, and 1 is 1.0."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_is_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_is_equal(left[key], right[key]) for key in left)
    return _find_comparison_kind(left) == _find_comparison_kind(right) and bool(left == right)


def _find_index(values: list[Any], searched: Any) -> int:
    return next((at for at, value in enumerate(values) if _is_equal(value, searched)), -1)


def _find_last_index(values: list[Any], searched: Any) -> int:
    return next((at for at in range(len(values) - 1, -1, -1) if _is_equal(values[at], searched)), -1)


OVERLOADS = (
    Overload("isSorted", ("list",), "bool", _is_sorted, True),
    Overload("sum", ("list",), "any", _sum_values, True),
    Overload("min", ("list",), "any", _find_minimum, True),
    Overload("max", ("list",), "any", _find_maximum, True),
    Overload("indexOf", ("list", "any"), "int", _find_index, True),
    Overload("lastIndexOf", ("list", "any"), "int", _find_last_index, True),
)
