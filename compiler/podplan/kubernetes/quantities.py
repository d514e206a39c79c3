"""Kubernetes quantities (cpu: 500m, memory: 16Gi) as exact integers, in units of 10⁻⁹.

Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/. The API server
rounds anything finer than 10⁻⁹ away from zero, so integers in that unit are exact.
"""

from __future__ import annotations

import re
from functools import lru_cache

UNITS_PER_ONE = 10**9

_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_MAX_EXPONENT = 64  # a longer exponent is out of range anyway
_MAX_LENGTH = 200


def parse_quantity(value: object) -> int | None:
    """Parse a quantity, text or number, into units of 10⁻⁹; None if it is invalid."""
    if isinstance(value, str):
        return _parse_text(value.strip(" \t\r\n"))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value * UNITS_PER_ONE if isinstance(value, int) else _parse_text(repr(value))


def suggest_quantity(text: str) -> str:
    """Return the quantity that a text in another notation probably means ("16GB" is "16Gi"), or ""."""
    match = re.match(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgtpe])(i?)b?\s*\Z", text, re.IGNORECASE | re.ASCII)
    return f"{match[1]}{match[2].upper()}i" if match else ""


def is_whole(units: int) -> bool:
    """Whether a parsed quantity is an integer."""
    return units % UNITS_PER_ONE == 0


def format_quantity(units: int, resource: str) -> str:
    """Format parsed units exactly: cpu in cores, everything else in the largest unit that fits."""
    if resource == "cpu" or not is_whole(units):
        return f"{-(-units // 10**6)}m" if not is_whole(units) else str(units // UNITS_PER_ONE)
    whole = units // UNITS_PER_ONE
    exact_sizes = [(suffix, size) for suffix, size in _BINARY.items() if whole and whole % size == 0]
    suffix, size = exact_sizes[-1] if exact_sizes else ("", 1)
    return f"{whole // size}{suffix}"


@lru_cache(maxsize=1024)
def _parse_text(text: str) -> int | None:
    if len(text) > _MAX_LENGTH:
        return None
    match = _quantity_pattern().match(text)
    if match is None:
        return None
    sign, whole, fraction, suffix, exponent = match.groups(default="")
    if not whole and not fraction:
        return None
    digits = int(whole + fraction or "0")
    if suffix in _BINARY:
        units, power = digits * _BINARY[suffix], 9 - len(fraction)
    else:
        exponent_of_ten = int(exponent) if exponent else _DECIMAL[suffix]
        units, power = digits, max(-_MAX_EXPONENT, min(_MAX_EXPONENT, exponent_of_ten)) + 9 - len(fraction)
    scale: int = 10 ** abs(power)
    units = units * scale if power >= 0 else -(-units // scale)
    return -units if sign == "-" else units


@lru_cache(maxsize=1)
def _quantity_pattern() -> re.Pattern[str]:
    return re.compile(r"([+-])?([0-9]*)(?:\.([0-9]*))?(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?[0-9]{1,18}))?\Z")
