"""The parts of a graph with their positions. Lengths are integers in CSS pixels, from the top left."""

from __future__ import annotations

from podplan.core.typing import NamedTuple
from podplan.tools.graph.model import Card, SideBox

STACK_OFFSET = 6  # offset of the cards drawn behind a card of several Pods


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
    """A card with its position, its fields in lines, and the boxes of its rows."""

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
