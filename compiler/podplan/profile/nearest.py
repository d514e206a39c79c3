"""What somebody probably meant who wrote a name that is not there."""

from __future__ import annotations

from collections.abc import Iterable

_MOST_CANDIDATES = 1_000
_MOST_LISTED = 8


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean "x"?`` with the known name nearest to ``word``, else the known names, else ""."""
    names = sorted(known)[:_MOST_CANDIDATES]
    if not names:
        return ""
    near = nearest(word, names)
    if near:
        return f'; did you mean "{near}"?'
    listed = ", ".join(names[:_MOST_LISTED])
    return f"; there is {listed}{', …' if len(names) > _MOST_LISTED else ''}"


def nearest(word: str, names: list[str]) -> str:
    """The name most like ``word``, or ""."""
    from difflib import get_close_matches

    folded = {name.lower(): name for name in reversed(names)}
    if word.lower() in folded:
        return folded[word.lower()]
    return next(iter(get_close_matches(word[:200], names, n=1, cutoff=0.6)), "")
