"""Plain scalars as values and as keys, cached for all files; odd ones are resolved elsewhere."""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.yaml import scalars

_INFINITIES = (float("inf"), float("-inf"))
_MAX_CACHED = 4096
_MAX_CACHED_LENGTH = 64
FIRST_NON_NUMBER = ":"  # numbers begin with a smaller character, one of "+-.0123456789"


class OddScalar(Exception):
    """Raised for a plain scalar or key that is not a usual one."""


class ScalarValues(dict[str, Any]):
    """Cache of the values of plain scalars; raises OddScalar for those with an error or a hint."""

    def __missing__(self, text: str) -> Any:
        value = scalars.resolve_plain(text)
        if value.__class__ is not str and (is_not_json(value) or scalars.explain_implicit_type(text)):
            raise OddScalar
        _cache_scalar(self, text, value)
        return value


class ScalarKeys(dict[str, str]):
    """Cache of plain keys that mean what is written, on one line; raises OddScalar for others."""

    def __missing__(self, text: str) -> str:
        if text == "<<" or scalars.resolve_plain_key(text) != text or text.split() != [text]:
            raise OddScalar
        _cache_scalar(self, text, text)
        return text


def _cache_scalar(cache: dict[str, Any], text: str, value: Any) -> None:
    """Cache the meaning of a short scalar. A full cache is cleared: frequent scalars come again."""
    if len(text) <= _MAX_CACHED_LENGTH:
        if len(cache) >= _MAX_CACHED:
            cache.clear()
        cache[text] = value


def is_not_json(value: Any) -> bool:
    """Whether a value is a number that JSON does not have."""
    return value.__class__ is float and (value != value or value in _INFINITIES)


SCALAR_VALUES, SCALAR_KEYS = ScalarValues(), ScalarKeys()
