"""Amounts of resources as Kueue counts and writes them."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.cluster.model import Amounts
from podplan.core.typing import Any
from podplan.kinds.common.quantities import format_quantity
from podplan.kubernetes.quantities import UNITS_PER_ONE, parse_quantity

_UNITS_PER_MILLI = UNITS_PER_ONE // 1000
_BINARY_RESOURCES = ("memory", "ephemeral-storage")


def parse_quantities(written: Any) -> dict[str, int]:
    """Return the valid quantities of a mapping, in units of 10⁻⁹."""
    amounts = written.items() if isinstance(written, dict) else ()
    parsed = {str(name): parse_quantity(value) for name, value in amounts}
    return {name: units for name, units in parsed.items() if units is not None}


def round_up(resource: str, units: int) -> int:
    """Return units of 10⁻⁹ as Kueue counts them: thousandths of cpu, else whole units, both rounded up."""
    return -(-units // (_UNITS_PER_MILLI if resource == "cpu" else UNITS_PER_ONE))


def round_amounts(quantities: Mapping[str, int]) -> dict[str, int]:
    return {name: round_up(name, units) for name, units in quantities.items()}


def format_amount(resource: str, amount: int) -> str:
    """Return an amount in the notation of Kueue's messages."""
    is_binary = resource in _BINARY_RESOURCES or resource.startswith("hugepages-")
    units = amount * (_UNITS_PER_MILLI if resource == "cpu" else UNITS_PER_ONE)
    return format_quantity(units, "Ki" if is_binary else "")


def format_amounts(amounts: Amounts) -> dict[str, str]:
    return {name: format_amount(name, amounts[name]) for name in sorted(amounts)}


def add_amounts(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}


def keep_larger(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in {**first, **second}}
