"""Python scripts in a file of YAML, as syntax trees."""

from __future__ import annotations

import ast
import warnings

_MOST_TEXT = 50_000  # characters of a script that is read
_MOST_NESTING = 40  # open brackets


def parse_python(text: str) -> ast.Module | None:
    """Return the syntax tree of a script; None for one that is too long, too deep, or not valid."""
    is_plain = "\r" not in text and "\f" not in text  # otherwise lines of Python differ from those of YAML
    if not text or len(text) > _MOST_TEXT or not is_plain or _count_nesting(text) > _MOST_NESTING:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _count_nesting(text: str) -> int:
    depth = most = 0
    for character in text:
        if character in "([{":
            depth += 1
            most = max(most, depth)
        elif character in ")]}":
            depth -= 1
    return most
