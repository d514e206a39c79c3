"""Kubernetes quantities (cpu: 500m, memory: 16Gi) as exact integers, in units of 10⁻⁹.

Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/. The API server
rounds anything finer than 10⁻⁹ away from zero, so integers in that unit lose nothing that it keeps.
"""

from __future__ import annotations

import re
from functools import lru_cache

ONE = 10**9

_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_FURTHEST = 64  # a longer exponent says no more than "far out of range"
_LONGEST = 200


def parse(value: object) -> int | None:
    """A quantity, text or number, in units of 10⁻⁹; None when it is not a quantity."""
    if isinstance(value, str):
        return _parse(value.strip(" \t\r\n"))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value * ONE if isinstance(value, int) else _parse(repr(value))


def meant(text: str) -> str:
    """The quantity that a text in another notation probably means ("16GB" is "16Gi"), or ""."""
    found = re.match(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgtpe])(i?)b?\s*\Z", text, re.IGNORECASE | re.ASCII)
    return f"{found[1]}{found[2].upper()}i" if found else ""


def is_whole(units: int) -> bool:
    """Whether a parsed quantity is an integer."""
    return units % ONE == 0


def exact(units: int, resource: str) -> str:
    """A parsed quantity as text that loses nothing: cpu in cores, all else in the largest unit that fits."""
    if resource == "cpu" or not is_whole(units):
        return f"{-(-units // 10**6)}m" if not is_whole(units) else str(units // ONE)
    whole = units // ONE
    fitting = [(suffix, size) for suffix, size in _BINARY.items() if whole and whole % size == 0]
    suffix, size = fitting[-1] if fitting else ("", 1)
    return f"{whole // size}{suffix}"


@lru_cache(maxsize=1024)
def _parse(text: str) -> int | None:
    if len(text) > _LONGEST:
        return None
    found = _pattern().match(text)
    if found is None:
        return None
    sign, whole, fraction, suffix, exponent = found.groups(default="")
    if not whole and not fraction:
        return None
    digits = int(whole + fraction or "0")
    if suffix in _BINARY:
        units, power = digits * _BINARY[suffix], 9 - len(fraction)
    else:
        ten = int(exponent) if exponent else _DECIMAL[suffix]
        units, power = digits, max(-_FURTHEST, min(_FURTHEST, ten)) + 9 - len(fraction)
    scale: int = 10 ** abs(power)
    units = units * scale if power >= 0 else -(-units // scale)
    return -units if sign == "-" else units


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    return re.compile(r"([+-])?([0-9]*)(?:\.([0-9]*))?(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?[0-9]{1,18}))?\Z")
