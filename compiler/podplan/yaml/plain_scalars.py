"""Plain scalars as values and as keys, each worked out once for all files; what is odd about one is left to
others."""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.yaml import scalars

_INFINITE = (float("inf"), float("-inf"))
_MOST_KEPT = 4096
_LONGEST_KEPT = 64
NO_NUMBER = ":"  # what is not less begins with none of "+-.0123456789"


class Odd(Exception):
    """A plain scalar or key that needs a closer look."""


class Values(dict[str, Any]):
    """Plain scalars -> values; raises Odd for what deserves a fault or a hint. Not all are kept."""

    def __missing__(self, text: str) -> Any:
        value = scalars.resolve(text)
        if value.__class__ is not str and (not_json(value) or scalars.hint(text)):
            raise Odd
        _keep(self, text, value)
        return value


class Keys(dict[str, str]):
    """Plain keys that mean what is written, in one line; raises Odd for all others. Not all are kept."""

    def __missing__(self, text: str) -> str:
        if text == "<<" or scalars.key_text(text) != text or text.split() != [text]:
            raise Odd
        _keep(self, text, text)
        return text


def _keep(kept: dict[str, Any], text: str, value: Any) -> None:
    """Note what a short scalar means. When they are too many all are forgotten: what is usual comes again."""
    if len(text) <= _LONGEST_KEPT:
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        kept[text] = value


def not_json(value: Any) -> bool:
    """Whether a value is a number that JSON does not have."""
    return value.__class__ is float and (value != value or value in _INFINITE)


VALUES, KEYS = Values(), Keys()
