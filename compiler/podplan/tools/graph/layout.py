"""The layout: what Pods read on the left, Pods in the middle, Services and volumes on the right.

Cards are stacked in their order. The boxes beside them are sorted by their cards, so that curves cross only
where they must.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from podplan.core.typing import NamedTuple
from podplan.tools.graph.boxes import STACK_OFFSET, Box, PlacedCard, PlacedSideBox
from podplan.tools.graph.model import Call, Card, Graph, SideBox
from podplan.tools.graph.routing import (
    CALL_LINE_HEIGHT,
    LANE_SPACING,
    Arrow,
    Curve,
    Gap,
    count_passed_cards,
    find_upper_index,
    route_adjacent_arrows,
    route_curves,
    route_lane_arrows,
    route_row_arrows,
)
from podplan.tools.graph.text_width import fit_text, wrap_text

MARGIN = 22
GUTTER = 52
LEFT_WIDTH, CARD_WIDTH, RIGHT_WIDTH = 212, 326, 232
HEADER_HEIGHT = 62  # name, kind and totals
GANG_HEAD_HEIGHT, GANG_PAD = 46, 14
CARD_HEAD_HEIGHT, LINE_HEIGHT, CARD_PAD = 50, 17, 12
ROW_HEIGHT, ROW_GAP, ROW_CALL_GAP = 26, 8, 38
SIDE_HEAD_HEIGHT, SIDE_LINE_HEIGHT, SIDE_GAP = 44, 15, 14
FIELD_FONT_SIZE, LABEL_WIDTH = 12, 56
CARD_GAP, CALL_GAP = 26, 26
NOTE_HEIGHT = 58
MAX_SIDE_LINES = 6


class GraphLayout(NamedTuple):
    """One graph, laid out in ``width`` × ``height``."""

    graph: Graph
    width: int
    height: int
    gang: Box | None
    note: Box | None
    cards: tuple[PlacedCard, ...]
    sides: tuple[PlacedSideBox, ...]
    curves: tuple[Curve, ...]
    arrows: tuple[Arrow, ...]


class ColumnLayout(NamedTuple):
    """Which columns exist, the same for all graphs of a file."""

    left: bool
    right: bool


def select_columns(pictures: Iterable[Graph]) -> ColumnLayout:
    """Return the columns that any of the graphs needs."""
    sides = [side.is_left for picture in pictures for side in picture.sides]
    return ColumnLayout(any(sides), not all(sides))


def lay_out_graph(graph: Graph, column_layout: ColumnLayout) -> GraphLayout:
    """Lay out a graph."""
    card_calls = [call for call in graph.calls if call.source != call.target]
    cards = [*(c for c in graph.cards if c.in_gang), *(c for c in graph.cards if not c.in_gang)]
    order = {card.id: i for i, card in enumerate(cards)}
    lanes = sorted(
        (c for c in card_calls if count_passed_cards(c, order) > 1),
        key=lambda c: (count_passed_cards(c, order), find_upper_index(c, order)),
    )
    x = MARGIN + (LEFT_WIDTH + GUTTER if column_layout.left else 0)
    pad, head = (GANG_PAD, GANG_HEAD_HEIGHT) if graph.gang is not None else (0, 0)
    inset = pad + LANE_SPACING * len(lanes)
    top = MARGIN + HEADER_HEIGHT
    note = Box(x + pad, top + head, CARD_WIDTH, NOTE_HEIGHT) if graph.note else None
    start = top + head + (NOTE_HEIGHT + CARD_GAP if graph.note else 0)
    if cards and not cards[0].in_gang:
        start += pad
    placed, gaps = _stack_cards(graph, cards, lanes, order, x + inset, start)
    outer = Box(
        x, top, inset + CARD_WIDTH + STACK_OFFSET + pad, head + (NOTE_HEIGHT + pad if graph.note else 0)
    )
    gang = _frame_gang(placed, outer) if graph.gang is not None else None
    by_id = {at.card.id: at for at in placed}
    sides = (
        *_place_sides(graph, order, by_id, MARGIN, LEFT_WIDTH, top, True),
        *_place_sides(graph, order, by_id, outer.right + GUTTER, RIGHT_WIDTH, top, False),
    )
    bottoms = [top, *(at.bottom for at in placed), *(at.box.bottom for at in sides)]
    bottoms += [box.bottom for box in (gang, note) if box is not None]
    arrows = (
        *route_row_arrows(graph, by_id),
        *route_adjacent_arrows(order, placed, gaps),
        *route_lane_arrows(lanes, order, placed, gaps),
    )
    wide = outer.right + (GUTTER + RIGHT_WIDTH if column_layout.right else 0) + MARGIN
    lines = route_curves(graph, by_id, {at.side.id: at for at in sides}, gang)
    return GraphLayout(graph, wide, max(bottoms) + MARGIN, gang, note, tuple(placed), sides, lines, arrows)


def _stack_cards(
    graph: Graph, cards: Sequence[Card], lanes: Sequence[Call], order: Mapping[str, int], x: int, y: int
) -> tuple[list[PlacedCard], list[Gap]]:
    """Stack the cards, with space between them for labels."""
    labels: list[list[Call]] = [[] for _ in cards]
    for lane in lanes:
        passed = range(
            find_upper_index(lane, order), find_upper_index(lane, order) + count_passed_cards(lane, order)
        )
        labels[min(passed, key=lambda i: len(labels[i]))].append(lane)
    placed: list[PlacedCard] = []
    gaps: list[Gap] = []
    for i, card in enumerate(cards):
        inner = [call for call in graph.calls if call.source == call.target == card.id]
        placed.append(_place_card(card, x, y, inner))
        calls = tuple(
            c for c in graph.calls if count_passed_cards(c, order) == 1 and find_upper_index(c, order) == i
        )
        gaps.append(Gap(placed[-1].bottom, calls, tuple(labels[i])))
        y = placed[-1].bottom + _compute_gap_height(len(calls) + len(labels[i]))
        if i + 1 < len(cards) and card.in_gang and not cards[i + 1].in_gang:
            y += GANG_PAD
    return placed, gaps


def _compute_gap_height(labels: int) -> int:
    return CALL_GAP + CALL_LINE_HEIGHT * labels if labels else CARD_GAP


def _place_card(card: Card, x: int, y: int, inner: Sequence[Call]) -> PlacedCard:
    text_width = CARD_WIDTH - 2 * CARD_PAD - LABEL_WIDTH
    fields = tuple((label, wrap_text(value, text_width, FIELD_FONT_SIZE)) for label, value in card.fields)
    y_below = y + CARD_HEAD_HEIGHT + LINE_HEIGHT * sum(len(lines) for _, lines in fields)
    y_below += 8 if card.rows and fields else 0
    rows = []
    for i, _ in enumerate(card.rows):
        rows.append(Box(x + CARD_PAD, y_below, CARD_WIDTH - 2 * CARD_PAD, ROW_HEIGHT))
        has_call = any({call.source_row, call.target_row} == {i, i + 1} for call in inner)
        last = i + 1 == len(card.rows)
        y_below += ROW_HEIGHT + (0 if last else ROW_CALL_GAP if has_call else ROW_GAP)
    return PlacedCard(
        card, Box(x, y, CARD_WIDTH, y_below + (CARD_PAD if card.rows else 6) - y), fields, tuple(rows)
    )


def _frame_gang(placed: Sequence[PlacedCard], outer: Box) -> Box:
    """Return the frame of the gang, which ends after the last card in it, if there is one."""
    bottom = max((at.bottom + GANG_PAD for at in placed if at.card.in_gang), default=outer.bottom)
    return outer._replace(height=bottom - outer.y)


def _place_sides(
    graph: Graph,
    order: Mapping[str, int],
    cards: Mapping[str, PlacedCard],
    x: int,
    width: int,
    top: int,
    is_left: bool,
) -> list[PlacedSideBox]:
    """Lay out one column: each box as close to its cards as the one above it allows."""
    card_indexes = {
        side.id: [order[link.card] for link in graph.links if link.side == side.id] for side in graph.sides
    }
    sides = [side for side in graph.sides if side.is_left == is_left]

    def rank(side: SideBox) -> tuple[float, bool]:
        at = card_indexes[side.id]
        return (sum(at) / len(at) if at else len(order), "Service" not in side.kind)

    in_order = list(cards.values())
    placed: list[PlacedSideBox] = []
    y = top
    for side in sorted(sides, key=rank):
        lines = side.lines[:MAX_SIDE_LINES]
        if len(side.lines) > MAX_SIDE_LINES:
            lines = (*lines[:-1], f"and {len(side.lines) - MAX_SIDE_LINES + 1} more")
        height = SIDE_HEAD_HEIGHT + SIDE_LINE_HEIGHT * len(lines) + (4 if lines else 0)
        at = [in_order[i].box for i in card_indexes[side.id]]
        if len(at) == 1:
            y = max(y, at[0].y)
        elif at:
            middle = (min(box.y for box in at) + max(box.bottom for box in at)) // 2
            y = max(y, middle - height // 2)
        placed.append(
            PlacedSideBox(
                side, Box(x, y, width, height), tuple(fit_text(n, width - 24, 11, True) for n in lines)
            )
        )
        y += height + SIDE_GAP
    return placed
