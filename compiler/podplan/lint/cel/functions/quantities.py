"""quantity('16Gi') and its arithmetic: https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#Quantity."""

from __future__ import annotations

import re

from podplan.kubernetes import quantities
from podplan.lint.cel.functions import Overload, Tagged, succeeds, tagged

_TYPE = "Quantity"
_LARGEST = 2**63 - 1

# What Go keeps as an int64 whose scale is not negative; AsInt64 gives up on the rest, on "1000m" too.
_WHOLE = re.compile(r"[+-]?[0-9]+(?:[kMGTPE]|[KMGTPE]i|[eE]\+?[0-9]+)?\Z")


def quantity(text: str) -> Tagged:
    """A quantity in units of 10⁻⁹, as text because it may be beyond 64 bits."""
    units = None if text != text.strip() else quantities.parse(text)
    if units is None:
        raise ValueError("quantity() wants a quantity such as '16Gi' or '500m'")
    most = _LARGEST * quantities.ONE
    return _made(max(-most, min(most, units)), bool(_WHOLE.match(text)))


def _made(units: int, whole: bool) -> Tagged:
    # 1 and 1.0 are equal to CEL, so that quantities of one value are equal whatever they were written as.
    return tagged(_TYPE, [str(units), 1 if whole else 1.0])


def _units(value: Tagged) -> int:
    return int(value[_TYPE][0])


def _is_whole(value: Tagged) -> bool:
    units, whole = value[_TYPE]
    return isinstance(whole, int) and abs(int(units)) <= _LARGEST * quantities.ONE


def _as_integer(value: Tagged) -> int:
    if not _is_whole(value):
        raise ValueError("asInteger() wants a quantity that is written as a whole number within 64 bits")
    return _units(value) // quantities.ONE


def _compare(left: Tagged, right: Tagged) -> int:
    return (_units(left) > _units(right)) - (_units(left) < _units(right))


def _add(left: Tagged, right: Tagged | int) -> Tagged:
    other = quantity(str(right)) if isinstance(right, int) else right
    return _made(_units(left) + _units(other), _is_whole(left) and _is_whole(other))


def _sub(left: Tagged, right: Tagged | int) -> Tagged:
    other = quantity(str(right)) if isinstance(right, int) else right
    return _made(_units(left) - _units(other), _is_whole(left) and _is_whole(other))


OVERLOADS = (
    Overload("quantity", ("string",), _TYPE, quantity),
    Overload("isQuantity", ("string",), "bool", succeeds(quantity)),
    Overload("sign", (_TYPE,), "int", lambda value: _compare(value, _made(0, True)), True),
    Overload("isInteger", (_TYPE,), "bool", _is_whole, True),
    Overload("asInteger", (_TYPE,), "int", _as_integer, True),
    Overload("asApproximateFloat", (_TYPE,), "double", lambda value: _units(value) / quantities.ONE, True),
    Overload("isLessThan", (_TYPE, _TYPE), "bool", lambda a, b: _compare(a, b) < 0, True),
    Overload("isGreaterThan", (_TYPE, _TYPE), "bool", lambda a, b: _compare(a, b) > 0, True),
    Overload("compareTo", (_TYPE, _TYPE), "int", _compare, True),
    Overload("add", (_TYPE, _TYPE), _TYPE, _add, True),
    Overload("add", (_TYPE, "int"), _TYPE, _add, True),
    Overload("sub", (_TYPE, _TYPE), _TYPE, _sub, True),
    Overload("sub", (_TYPE, "int"), _TYPE, _sub, True),
)
