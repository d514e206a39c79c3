"""quantity('16Gi') and its arithmetic: https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#Quantity."""

from __future__ import annotations

import re

from podplan.kubernetes import quantities
from podplan.lint.cel.functions import Overload, Tagged, make_predicate, tag_value

_TYPE_NAME = "Quantity"
_LARGEST = 2**63 - 1

# What Go keeps as an int64 whose scale is not negative; AsInt64 gives up on the rest, on "1000m" too.
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+(?:[kMGTPE]|[KMGTPE]i|[eE]\+?[0-9]+)?\Z")


def parse_quantity(text: str) -> Tagged:
    """A quantity in units of 10⁻⁹, as text because it may be beyond 64 bits."""
    units = None if text != text.strip() else quantities.parse_quantity(text)
    if units is None:
        raise ValueError("quantity() wants a quantity such as '16Gi' or '500m'")
    largest_units = _LARGEST * quantities.UNITS_PER_ONE
    return _build_quantity(max(-largest_units, min(largest_units, units)), bool(_WHOLE_NUMBER.match(text)))


def _build_quantity(units: int, is_whole: bool) -> Tagged:
    # 1 and 1.0 are equal to CEL, so that quantities of one value are equal whatever they were written as.
    return tag_value(_TYPE_NAME, [str(units), 1 if is_whole else 1.0])


def _units_of(value: Tagged) -> int:
    return int(value[_TYPE_NAME][0])


def _is_whole(value: Tagged) -> bool:
    units, whole_marker = value[_TYPE_NAME]
    return isinstance(whole_marker, int) and abs(int(units)) <= _LARGEST * quantities.UNITS_PER_ONE


def _to_integer(value: Tagged) -> int:
    if not _is_whole(value):
        raise ValueError("asInteger() wants a quantity that is written as a whole number within 64 bits")
    return _units_of(value) // quantities.UNITS_PER_ONE


def _compare(left: Tagged, right: Tagged) -> int:
    return (_units_of(left) > _units_of(right)) - (_units_of(left) < _units_of(right))


def _add(left: Tagged, right: Tagged | int) -> Tagged:
    right_quantity = parse_quantity(str(right)) if isinstance(right, int) else right
    return _build_quantity(
        _units_of(left) + _units_of(right_quantity), _is_whole(left) and _is_whole(right_quantity)
    )


def _subtract(left: Tagged, right: Tagged | int) -> Tagged:
    right_quantity = parse_quantity(str(right)) if isinstance(right, int) else right
    return _build_quantity(
        _units_of(left) - _units_of(right_quantity), _is_whole(left) and _is_whole(right_quantity)
    )


OVERLOADS = (
    Overload("quantity", ("string",), _TYPE_NAME, parse_quantity),
    Overload("isQuantity", ("string",), "bool", make_predicate(parse_quantity)),
    Overload("sign", (_TYPE_NAME,), "int", lambda value: _compare(value, _build_quantity(0, True)), True),
    Overload("isInteger", (_TYPE_NAME,), "bool", _is_whole, True),
    Overload("asInteger", (_TYPE_NAME,), "int", _to_integer, True),
    Overload(
        "asApproximateFloat",
        (_TYPE_NAME,),
        "double",
        lambda value: _units_of(value) / quantities.UNITS_PER_ONE,
        True,
    ),
    Overload("isLessThan", (_TYPE_NAME, _TYPE_NAME), "bool", lambda a, b: _compare(a, b) < 0, True),
    Overload("isGreaterThan", (_TYPE_NAME, _TYPE_NAME), "bool", lambda a, b: _compare(a, b) > 0, True),
    Overload("compareTo", (_TYPE_NAME, _TYPE_NAME), "int", _compare, True),
    Overload("add", (_TYPE_NAME, _TYPE_NAME), _TYPE_NAME, _add, True),
    Overload("add", (_TYPE_NAME, "int"), _TYPE_NAME, _add, True),
    Overload("sub", (_TYPE_NAME, _TYPE_NAME), _TYPE_NAME, _subtract, True),
    Overload("sub", (_TYPE_NAME, "int"), _TYPE_NAME, _subtract, True),
)
