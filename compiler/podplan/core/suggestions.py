"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

_MIN_SIMILARITY = 0.65
_MAX_LENGTH = 200
_MAX_CANDIDATES = 1_000
_MAX_LISTED = 8


def suggest_name(word: str, candidates: Iterable[str]) -> str:
    """Return the candidate that ``word`` was probably meant to be, or ""; case is ignored."""
    return _find_closest(word[:_MAX_LENGTH].lower(), tuple(sorted(candidates)[:_MAX_CANDIDATES]))


@lru_cache(maxsize=256)  # a misspelt name is often repeated in many entries
def _find_closest(word: str, names: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    folded = {name.lower(): name for name in names}
    matches = get_close_matches(word, list(folded), 1, _MIN_SIMILARITY)
    return folded[matches[0]] if matches else ""


def suggest_phrase(word: str, candidates: Iterable[str]) -> str:
    """Return ``; did you mean "x"?`` with the candidate nearest to ``word``, or ""."""
    suggestion = suggest_name(word, candidates)
    return f'; did you mean "{suggestion}"?' if suggestion else ""


def suggest_or_list(word: str, candidates: Iterable[str]) -> str:
    """Return ``; did you mean "x"?``, or without such a name ``; there is a, b``, or "" without
    candidates."""
    names = sorted(candidates)
    if not names:
        return ""
    listed = ", ".join(names[:_MAX_LISTED])
    return suggest_phrase(word, names) or f"; there is {listed}{', …' if len(names) > _MAX_LISTED else ''}"
