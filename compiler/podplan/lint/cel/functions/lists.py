"""sum, min, max, isSorted, indexOf and lastIndexOf: https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#Lists."""

from __future__ import annotations

from datetime import datetime, timedelta

from podplan.core.typing import Any
from podplan.lint.cel.functions import Overload

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def _kind(value: Any) -> str:
    """What a value can be compared with."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return type(value).__name__


def _comparable(values: list[Any], name: str) -> list[Any]:
    kinds = {_kind(value) for value in values}
    if len(kinds) > 1 or kinds & {"dict", "list", "NoneType"}:
        raise ValueError(f"{name}() wants a list of numbers, texts, times or booleans, all of one type")
    return values


def _returnable(value: Any, name: str) -> Any:
    if isinstance(value, datetime | timedelta):
        raise ValueError(f"podplan does not support {name}() over durations and timestamps")
    return value


def _sum(values: list[Any]) -> Any:
    if {_kind(value) for value in _comparable(values, "sum")} - {"number", "timedelta"}:
        raise ValueError("sum() wants a list of numbers")
    _returnable(values[0] if values else 0, "sum")
    total = sum(values)
    if isinstance(total, int) and not _SMALLEST <= total <= _LARGEST:
        raise ValueError("sum() goes beyond 64 bits")
    return total


def _min(values: list[Any]) -> Any:
    if not values:
        raise ValueError("min() of an empty list")
    return _returnable(min(_comparable(values, "min")), "min")


def _max(values: list[Any]) -> Any:
    if not values:
        raise ValueError("max() of an empty list")
    return _returnable(max(_comparable(values, "max")), "max")


def _is_sorted(values: list[Any]) -> bool:
    _comparable(values, "isSorted")
    return all(not values[at + 1] < values[at] for at in range(len(values) - 1))


def _same(left: Any, right: Any) -> bool:
    """Whether CEL calls two values equal: true is not 1, and 1 is 1.0."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    return _kind(left) == _kind(right) and bool(left == right)


def _index_of(values: list[Any], wanted: Any) -> int:
    return next((at for at, value in enumerate(values) if _same(value, wanted)), -1)


def _last_index_of(values: list[Any], wanted: Any) -> int:
    return next((at for at in range(len(values) - 1, -1, -1) if _same(values[at], wanted)), -1)


OVERLOADS = (
    Overload("isSorted", ("list",), "bool", _is_sorted, True),
    Overload("sum", ("list",), "any", _sum, True),
    Overload("min", ("list",), "any", _min, True),
    Overload("max", ("list",), "any", _max, True),
    Overload("indexOf", ("list", "any"), "int", _index_of, True),
    Overload("lastIndexOf", ("list", "any"), "int", _last_index_of, True),
)
