"""Fast parser for files with only lines such as ``ignore = ["SEC014"]``, which most repositories have.

The values are parsed as JSON, whose module is loaded anyway; importing tomllib takes 7 % of a cold check.
"""

from __future__ import annotations

from json import JSONDecoder

from podplan.core.findings import Path
from podplan.core.typing import Any

_BARE_KEY_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


def parse_plain_toml(text: str) -> tuple[dict[str, Any], dict[Path, int]] | None:
    """Parse a TOML text into data and the 1-based line of each key; None if it needs tomllib."""
    data: dict[str, Any] = {}
    lines: dict[Path, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if "\\" in line or not line.isprintable():  # JSON has other escapes, and allows other characters
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
    """Parse a string, an integer, a boolean, or a list of strings. Raises ValueError: for anything else."""
    value, end = JSONDecoder().raw_decode(text)
    trailing = text[end:].lstrip()
    is_text_list = type(value) is list and all(type(one) is str for one in value)
    if (trailing and not trailing.startswith("#")) or not (is_text_list or type(value) in (str, int, bool)):
        raise ValueError(text)
    return value
