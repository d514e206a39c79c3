"""The parts of a picture in their places. Lengths are whole CSS pixels, from the top left of the picture."""

from __future__ import annotations

from podplan.core.typing import NamedTuple
from podplan.tools.graph.model import Card, Side

STACK = 6  # how far the cards behind a card of several Pods stand out


class Box(NamedTuple):
    x: int
    y: int
    width: int
    height: int

    @property
    def right(self) -> int:
        return self.x + self.width

    @property
    def bottom(self) -> int:
        return self.y + self.height


class CardAt(NamedTuple):
    """A card in its place, its fields in lines, and the boxes of its rows."""

    card: Card
    box: Box
    fields: tuple[tuple[str, tuple[str, ...]], ...]
    rows: tuple[Box, ...]

    @property
    def right(self) -> int:
        return self.box.right + (STACK if self.card.many else 0)

    @property
    def bottom(self) -> int:
        return self.box.bottom + (STACK if self.card.many else 0)


class SideAt(NamedTuple):
    side: Side
    box: Box
    lines: tuple[str, ...]
