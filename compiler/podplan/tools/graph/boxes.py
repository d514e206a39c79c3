"""The parts of a picture in their places. Lengths are whole CSS pixels, from the top left of the picture."""

from __future__ import annotations

from podplan.core.typing import NamedTuple
from podplan.tools.graph.model import Card, SideBox

STACK_OFFSET = 6  # how far the cards behind a card of several Pods stand out


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


class PlacedCard(NamedTuple):
    """A card in its place, its fields in lines, and the boxes of its rows."""

    card: Card
    box: Box
    fields: tuple[tuple[str, tuple[str, ...]], ...]
    rows: tuple[Box, ...]

    @property
    def right(self) -> int:
        return self.box.right + (STACK_OFFSET if self.card.has_many else 0)

    @property
    def bottom(self) -> int:
        return self.box.bottom + (STACK_OFFSET if self.card.has_many else 0)


class PlacedSideBox(NamedTuple):
    side: SideBox
    box: Box
    lines: tuple[str, ...]
