"""Settings that are lines such as ``ignore = ["SEC014"]`` and nothing else, which most repositories have.

They are JSON behind the ``=``, which is loaded anyway; tomllib takes 7 % of a cold check.
"""

from __future__ import annotations

from json import JSONDecoder

from podplan.core.findings import Path
from podplan.core.typing import Any

_BARE_KEY_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


def parse_plain_toml(text: str) -> tuple[dict[str, Any], dict[Path, int]] | None:
    """What a TOML text says, and the 1-based line of each key; None where only tomllib can tell."""
    data: dict[str, Any] = {}
    lines: dict[Path, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if "\\" in line or not line.isprintable():  # JSON has other escapes, and takes other characters
            return None
        key, equals, value = line.partition("=")
        key = key.strip()
        if not key.startswith("#") and (key or equals):
            if not equals or not key or not _BARE_KEY_CHARACTERS.issuperset(key) or key in data:
                return None
            try:
                data[key] = _parse_value(value.strip())
            except ValueError:
                return None
            lines[key,] = number
    return data, lines


def _parse_value(text: str) -> Any:
    """A text, a whole number, a truth value, or a list of texts. Raises ValueError for all else."""
    value, end = JSONDecoder().raw_decode(text)
    trailing = text[end:].lstrip()
    is_text_list = type(value) is list and all(type(one) is str for one in value)
    if (trailing and not trailing.startswith("#")) or not (is_text_list or type(value) in (str, int, bool)):
        raise ValueError(text)
    return value
