"""Plain scalars as values and as keys, each worked out once; what is odd about one is left to others."""

from __future__ import annotations

from podplan.source import scalars
from podplan.typing import Any

_INFINITE = (float("inf"), float("-inf"))


class Odd(Exception):
    """A plain scalar or key that needs a closer look."""


class Values(dict[str, Any]):
    """Plain scalars -> values; raises Odd for what deserves a fault or a hint."""

    def __missing__(self, text: str) -> Any:
        value = scalars.resolve(text)
        if value.__class__ is not str and (not_json(value) or scalars.hint(text)):
            raise Odd
        self[text] = value
        return value


class Keys(dict[str, str]):
    """Plain scalars -> keys; raises Odd for the merge key and for what is no key."""

    def __missing__(self, text: str) -> str:
        key = scalars.key_text(text)
        if key is None or text == "<<":
            raise Odd
        self[text] = key
        return key


def not_json(value: Any) -> bool:
    """Whether a value is a number that JSON does not have."""
    return value.__class__ is float and (value != value or value in _INFINITE)
