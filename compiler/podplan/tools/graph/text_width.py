"""Estimates the width of text without a font, on the safe side, and fits text into a width.

Widths are in units of the graph (CSS pixels). The actual font may be a few percent narrower or wider.
"""

from __future__ import annotations

from unicodedata import category, east_asian_width

_NARROW_CHARACTERS = frozenset("iljtfrI.,:;'|!()[]/ ·")
_WIDE_CHARACTERS = frozenset("mwMW@%…×")
_ELLIPSIS = "…"


def measure_text(text: str, size: float, mono: bool = False) -> float:
    """Return the maximum width of a text in a font of ``size``."""
    return size * sum(_measure_character(char, mono) for char in text)


def _measure_character(char: str, mono: bool) -> float:
    if east_asian_width(char) in "WF":
        return 1.05
    if category(char) in ("Mn", "Me"):
        return 0.0
    if mono:
        return 0.61
    return (
        0.38
        if char in _NARROW_CHARACTERS
        else 0.95
        if char in _WIDE_CHARACTERS
        else 0.7
        if char.isupper()
        else 0.61
    )


def fit_text(text: str, max_width: float, size: float, mono: bool = False) -> str:
    """Return ``text`` if it fits into ``max_width``, else its start and its end around an ellipsis."""
    if not text or measure_text(text, size, mono) <= max_width:
        return text
    left = right = 0
    max_width -= measure_text(_ELLIPSIS, size, mono)
    while True:
        next_index = left if left <= right else -1 - right
        max_width -= measure_text(text[next_index], size, mono)
        if max_width < 0:
            return text[:left] + _ELLIPSIS + text[len(text) - right :]
        left, right = (left + 1, right) if left <= right else (left, right + 1)


def wrap_text(text: str, max_width: float, size: float, max_lines: int = 2) -> tuple[str, ...]:
    """Wrap ``text`` at spaces in at most ``max_lines`` lines; the rest is truncated."""
    lines: list[str] = []
    line = ""
    words = text.split(" ")
    for i, word in enumerate(words):
        longer = f"{line} {word}" if line else word
        if line and len(lines) < max_lines - 1 and measure_text(longer, size) > max_width:
            lines.append(fit_text(line.removesuffix(" ·"), max_width, size))
            line = word
        elif len(lines) == max_lines - 1:
            return (*lines, fit_text(" ".join(([line] if line else []) + words[i:]), max_width, size))
        else:
            line = longer
    return (*lines, fit_text(line, max_width, size))
