"""How wide words are, without asking a font: an estimate on the safe side, and texts made to fit.

Widths are in units of the picture (CSS pixels). A reader's font may be a few percent narrower or wider.
"""

from __future__ import annotations

from unicodedata import category, east_asian_width

_NARROW = frozenset("iljtfrI.,:;'|!()[]/ ·")
_WIDE = frozenset("mwMW@%…×")
_DOTS = "…"


def width(text: str, size: float, mono: bool = False) -> float:
    """How wide a text is at most, in a font of ``size``."""
    return size * sum(_cell(char, mono) for char in text)


def _cell(char: str, mono: bool) -> float:
    if east_asian_width(char) in "WF":
        return 1.05
    if category(char) in ("Mn", "Me"):
        return 0.0
    if mono:
        return 0.61
    return 0.38 if char in _NARROW else 0.95 if char in _WIDE else 0.7 if char.isupper() else 0.61


def fit(text: str, room: float, size: float, mono: bool = False) -> str:
    """``text`` if it fits into ``room``, else its beginning and its end around an ellipsis."""
    if not text or width(text, size, mono) <= room:
        return text
    left = right = 0
    room -= width(_DOTS, size, mono)
    while True:
        at = left if left <= right else -1 - right
        room -= width(text[at], size, mono)
        if room < 0:
            return text[:left] + _DOTS + text[len(text) - right :]
        left, right = (left + 1, right) if left <= right else (left, right + 1)


def wrap(text: str, room: float, size: float, most: int = 2) -> tuple[str, ...]:
    """``text`` in at most ``most`` lines, broken at spaces; what does not fit is cut."""
    lines: list[str] = []
    line = ""
    words = text.split(" ")
    for i, word in enumerate(words):
        longer = f"{line} {word}" if line else word
        if line and len(lines) < most - 1 and width(longer, size) > room:
            lines.append(fit(line.removesuffix(" ·"), room, size))
            line = word
        elif len(lines) == most - 1:
            return (*lines, fit(" ".join(([line] if line else []) + words[i:]), room, size))
        else:
            line = longer
    return (*lines, fit(line, room, size))
