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
    if width(text, size, mono) <= room:
        return text
    left, right = len(text) - len(text) // 2, len(text) // 2
    left, right = min(left, 200), min(right, 200)
    while left + right > 2:
        left, right = (left - 1, right) if left > right else (left, right - 1)
        if width(cut := text[:left] + _DOTS + text[-right:], size, mono) <= room:
            return cut
    return _DOTS


def wrap(text: str, room: float, size: float, most: int = 2) -> tuple[str, ...]:
    """``text`` in at most ``most`` lines, broken at spaces; what does not fit is cut."""
    lines: list[str] = []
    line = ""
    words = text.split(" ")
    for i, word in enumerate(words):
        longer = f"{line} {word}" if line else word
        if line and len(lines) < most - 1 and width(longer, size) > room:
            lines.append(line.removesuffix(" ·"))
            line = word
        elif len(lines) == most - 1:
            return (*lines, fit(" ".join(([line] if line else []) + words[i:]), room, size))
        else:
            line = longer
    return (*lines, fit(line, room, size))
