"""What somebody probably meant who wrote a name that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

_LIKENESS = 0.65
_LONGEST = 200
_MOST_CANDIDATES = 1_000
_MOST_LISTED = 8


def nearest(word: str, known: Iterable[str]) -> str:
    """The known name that ``word`` was probably meant to be, or ""; case does not count."""
    return _nearest(word[:_LONGEST].lower(), tuple(sorted(known)[:_MOST_CANDIDATES]))


@lru_cache(maxsize=256)  # who writes a name wrong in one entry does so in all of them
def _nearest(word: str, names: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    folded = {name.lower(): name for name in names}
    found = get_close_matches(word, list(folded), 1, _LIKENESS)
    return folded[found[0]] if found else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean "x"?`` with the known name nearest to ``word``, or ""."""
    near = nearest(word, known)
    return f'; did you mean "{near}"?' if near else ""


def meant_or_known(word: str, known: Iterable[str]) -> str:
    """``; did you mean "x"?`` or, without such a name, ``; there is a, b``; "" where nothing is known."""
    names = sorted(known)
    if not names:
        return ""
    listed = ", ".join(names[:_MOST_LISTED])
    return did_you_mean(word, names) or f"; there is {listed}{', …' if len(names) > _MOST_LISTED else ''}"
