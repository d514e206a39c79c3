"""Plain scalars as values and as keys, each worked out once for all files; what is odd about one is left to
others."""

from __future__ import annotations

from podplan.core.typing import Any
from podplan.yaml import scalars

_INFINITIES = (float("inf"), float("-inf"))
_MAX_CACHED = 4096
_MAX_CACHED_LENGTH = 64
FIRST_NON_NUMBER = ":"  # what is not less begins with none of "+-.0123456789"


class OddScalar(Exception):
    """A plain scalar or key that needs a closer look."""


class ScalarValues(dict[str, Any]):
    """Plain scalars -> values; raises Odd for what deserves a fault or a hint. Not all are kept."""

    def __missing__(self, text: str) -> Any:
        value = scalars.resolve_plain(text)
        if value.__class__ is not str and (is_not_json(value) or scalars.explain_implicit_type(text)):
            raise OddScalar
        _cache_scalar(self, text, value)
        return value


class ScalarKeys(dict[str, str]):
    """Plain keys that mean what is written, in one line; raises Odd for all others. Not all are kept."""

    def __missing__(self, text: str) -> str:
        if text == "<<" or scalars.resolve_plain_key(text) != text or text.split() != [text]:
            raise OddScalar
        _cache_scalar(self, text, text)
        return text


def _cache_scalar(cache: dict[str, Any], text: str, value: Any) -> None:
    """Note what a short scalar means. When they are too many all are forgotten: what is usual comes again."""
    if len(text) <= _MAX_CACHED_LENGTH:
        if len(cache) >= _MAX_CACHED:
            cache.clear()
        cache[text] = value


def is_not_json(value: Any) -> bool:
    """Whether a value is a number that JSON does not have."""
    return value.__class__ is float and (value != value or value in _INFINITIES)


SCALAR_VALUES, SCALAR_KEYS = ScalarValues(), ScalarKeys()
