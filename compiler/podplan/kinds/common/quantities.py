"""Quantities as the Go library of Kubernetes writes them, which is how they leave a controller.

Source: CanonicalizeBytes of
https://github.com/kubernetes/apimachinery/blob/v0.36.0/pkg/api/resource/quantity.go
"""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.kubernetes.quantities import UNITS_PER_ONE, parse_quantity

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_MAX_EXPONENT = 18


def canonicalize_quantity(value: Any) -> Any:
    """A quantity in the form that a controller writes; ``value`` itself where it is none."""
    units = parse_quantity(value)
    return value if units is None else format_quantity(units, value)


def sum_quantities(amounts: list[tuple[Any, int]]) -> Any:
    """The sum of quantities, each so many times, in the form of the first."""
    total = sum((parse_quantity(value) or 0) * count for value, count in amounts)
    return format_quantity(total, next((value for value, _ in amounts if parse_quantity(value)), ""))


def format_quantity(units: int, like: Any) -> str:
    """So many 10⁻⁹ in the suffixes that ``like`` has: binary, decimal or an exponent."""
    text = str(like)
    if text.endswith("i") and not -1024 * UNITS_PER_ONE < units < 1024 * UNITS_PER_ONE:
        return _format_binary(-(-units // UNITS_PER_ONE))
    exponent = -9
    while units and exponent < _MAX_EXPONENT and units % 1000 == 0:
        units, exponent = units // 1000, exponent + 3
    if not units:
        return "0"
    if "e" in text or ("E" in text and not text.endswith(("E", "Ei"))):
        return f"{units}e{exponent}" if exponent else str(units)
    return f"{units}{_DECIMAL[exponent]}"


def _format_binary(whole: int) -> str:
    power = 0
    while whole and power < len(_BINARY) - 1 and whole % 1024 == 0:
        whole, power = whole // 1024, power + 1
    return f"{whole}{_BINARY[power]}"
