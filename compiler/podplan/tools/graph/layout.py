"""Where everything stands: what Pods read on the left, Pods in the middle, Services and volumes on the right.

Cards stand below one another in their order. What is beside them is sorted by the cards that it belongs to,
so that curves cross only where they must.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from podplan.core.typing import NamedTuple
from podplan.tools.graph.boxes import STACK, Box, CardAt, SideAt
from podplan.tools.graph.model import Call, Card, Picture, Side
from podplan.tools.graph.routing import (
    CALL_LINE,
    LANE,
    Arrow,
    Curve,
    Gap,
    adjacent,
    curves,
    inside,
    low,
    round_about,
    span,
)
from podplan.tools.graph.text_width import fit, wrap

MARGIN = 22
GUTTER = 52
LEFT, MIDDLE, RIGHT = 212, 326, 232
HEAD = 62  # name, kind and totals
GANG_HEAD, GANG_PAD = 46, 14
CARD_HEAD, LINE, CARD_PAD = 50, 17, 12
ROW, ROW_GAP, ROW_CALL = 26, 8, 38
SIDE_HEAD, SIDE_LINE, SIDE_GAP = 44, 15, 14
FIELD, LABEL_ROOM = 12, 56
GAP, CALL_GAP = 26, 26
NOTE = 58
MOST_LINES = 6


class Plate(NamedTuple):
    """One picture, laid out in ``width`` × ``height``."""

    picture: Picture
    width: int
    height: int
    gang: Box | None
    note: Box | None
    cards: tuple[CardAt, ...]
    sides: tuple[SideAt, ...]
    curves: tuple[Curve, ...]
    arrows: tuple[Arrow, ...]


class Columns(NamedTuple):
    """Which columns there are, the same for all pictures of a file."""

    left: bool
    right: bool


def columns(pictures: Iterable[Picture]) -> Columns:
    """The columns that any of the pictures needs."""
    sides = [side.left for picture in pictures for side in picture.sides]
    return Columns(any(sides), not all(sides))


def laid_out(picture: Picture, shown: Columns) -> Plate:
    """A picture with everything in its place."""
    between = [call for call in picture.calls if call.source != call.target]
    cards = [*(c for c in picture.cards if c.gang), *(c for c in picture.cards if not c.gang)]
    order = {card.id: i for i, card in enumerate(cards)}
    lanes = sorted((c for c in between if span(c, order) > 1), key=lambda c: (span(c, order), low(c, order)))
    x = MARGIN + (LEFT + GUTTER if shown.left else 0)
    pad, head = (GANG_PAD, GANG_HEAD) if picture.gang is not None else (0, 0)
    inset = pad + LANE * len(lanes)
    top = MARGIN + HEAD
    note = Box(x + pad, top + head, MIDDLE, NOTE) if picture.note else None
    start = top + head + (NOTE + GAP if picture.note else 0)
    if cards and not cards[0].gang:
        start += pad
    placed, gaps = _stack(picture, cards, lanes, order, x + inset, start)
    outer = Box(x, top, inset + MIDDLE + STACK + pad, head + (NOTE + pad if picture.note else 0))
    gang = _around(placed, outer) if picture.gang is not None else None
    by_id = {at.card.id: at for at in placed}
    sides = (
        *_beside(picture, order, by_id, MARGIN, LEFT, top, True),
        *_beside(picture, order, by_id, outer.right + GUTTER, RIGHT, top, False),
    )
    bottoms = [top, *(at.bottom for at in placed), *(at.box.bottom for at in sides)]
    bottoms += [box.bottom for box in (gang, note) if box is not None]
    arrows = (
        *inside(picture, by_id),
        *adjacent(order, placed, gaps),
        *round_about(lanes, order, placed, gaps),
    )
    wide = outer.right + (GUTTER + RIGHT if shown.right else 0) + MARGIN
    lines = curves(picture, by_id, {at.side.id: at for at in sides}, gang)
    return Plate(picture, wide, max(bottoms) + MARGIN, gang, note, tuple(placed), sides, lines, arrows)


def _stack(
    picture: Picture, cards: Sequence[Card], lanes: Sequence[Call], order: Mapping[str, int], x: int, y: int
) -> tuple[list[CardAt], list[Gap]]:
    """The cards below one another, with room between them for labels."""
    labels: list[list[Call]] = [[] for _ in cards]
    for lane in lanes:
        passed = range(low(lane, order), low(lane, order) + span(lane, order))
        labels[min(passed, key=lambda i: len(labels[i]))].append(lane)
    placed: list[CardAt] = []
    gaps: list[Gap] = []
    for i, card in enumerate(cards):
        inner = [call for call in picture.calls if call.source == call.target == card.id]
        placed.append(_card(card, x, y, inner))
        calls = tuple(c for c in picture.calls if span(c, order) == 1 and low(c, order) == i)
        gaps.append(Gap(placed[-1].bottom, calls, tuple(labels[i])))
        y = placed[-1].bottom + _height(len(calls) + len(labels[i]))
        if i + 1 < len(cards) and card.gang and not cards[i + 1].gang:
            y += GANG_PAD
    return placed, gaps


def _height(labels: int) -> int:
    return CALL_GAP + CALL_LINE * labels if labels else GAP


def _card(card: Card, x: int, y: int, inner: Sequence[Call]) -> CardAt:
    room = MIDDLE - 2 * CARD_PAD - LABEL_ROOM
    fields = tuple((label, wrap(value, room, FIELD)) for label, value in card.fields)
    below = y + CARD_HEAD + LINE * sum(len(lines) for _, lines in fields)
    below += 8 if card.rows and fields else 0
    rows = []
    for i, _ in enumerate(card.rows):
        rows.append(Box(x + CARD_PAD, below, MIDDLE - 2 * CARD_PAD, ROW))
        called = any({call.source_row, call.target_row} == {i, i + 1} for call in inner)
        last = i + 1 == len(card.rows)
        below += ROW + (0 if last else ROW_CALL if called else ROW_GAP)
    return CardAt(card, Box(x, y, MIDDLE, below + (CARD_PAD if card.rows else 6) - y), fields, tuple(rows))


def _around(placed: Sequence[CardAt], outer: Box) -> Box:
    """The frame of the gang: it goes down to the last card in it, if there is one."""
    bottom = max((at.bottom + GANG_PAD for at in placed if at.card.gang), default=outer.bottom)
    return outer._replace(height=bottom - outer.y)


def _beside(
    picture: Picture,
    order: Mapping[str, int],
    cards: Mapping[str, CardAt],
    x: int,
    width: int,
    top: int,
    left: bool,
) -> list[SideAt]:
    """One column: each side as near to its cards as the one above it lets it."""
    linked = {
        side.id: [order[link.card] for link in picture.links if link.side == side.id]
        for side in picture.sides
    }
    sides = [side for side in picture.sides if side.left == left]

    def rank(side: Side) -> tuple[float, bool]:
        at = linked[side.id]
        return (sum(at) / len(at) if at else len(order), "Service" not in side.kind)

    in_order = list(cards.values())
    placed: list[SideAt] = []
    y = top
    for side in sorted(sides, key=rank):
        lines = side.lines[:MOST_LINES]
        if len(side.lines) > MOST_LINES:
            lines = (*lines[:-1], f"and {len(side.lines) - MOST_LINES + 1} more")
        height = SIDE_HEAD + SIDE_LINE * len(lines) + (4 if lines else 0)
        at = [in_order[i].box for i in linked[side.id]]
        if len(at) == 1:
            y = max(y, at[0].y)
        elif at:
            middle = (min(box.y for box in at) + max(box.bottom for box in at)) // 2
            y = max(y, middle - height // 2)
        placed.append(
            SideAt(side, Box(x, y, width, height), tuple(fit(n, width - 24, 11, True) for n in lines))
        )
        y += height + SIDE_GAP
    return placed
