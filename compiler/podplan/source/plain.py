"""Plain scalars as values and as keys, each worked out once for all files; what is odd about one is left to
others."""

from __future__ import annotations

from podplan.source import scalars
from podplan.typing import Any

_INFINITE = (float("inf"), float("-inf"))
_MOST_KEPT = 4096
_LONGEST_KEPT = 64


class Odd(Exception):
    """A plain scalar or key that needs a closer look."""


class Values(dict[str, Any]):
    """Plain scalars -> values; raises Odd for what deserves a fault or a hint. Not all are kept."""

    def __missing__(self, text: str) -> Any:
        value = scalars.resolve(text)
        if value.__class__ is not str and (not_json(value) or scalars.hint(text)):
            raise Odd
        if len(self) < _MOST_KEPT and len(text) <= _LONGEST_KEPT:
            self[text] = value
        return value


class Keys(dict[str, str]):
    """Plain scalars -> keys; raises Odd for the merge key and for what is no key."""

    def __missing__(self, text: str) -> str:
        key = scalars.key_text(text)
        if key is None or text == "<<":
            raise Odd
        if len(self) < _MOST_KEPT and len(text) <= _LONGEST_KEPT:
            self[text] = key
        return key


def not_json(value: Any) -> bool:
    """Whether a value is a number that JSON does not have."""
    return value.__class__ is float and (value != value or value in _INFINITE)


VALUES, KEYS = Values(), Keys()
