"""Routes curves between the columns, and arrows between cards and between the rows of a card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podplan.core.typing import NamedTuple
from podplan.tools.graph.boxes import Box, PlacedCard, PlacedSideBox
from podplan.tools.graph.model import Call, Graph, SideBox, find_shared_sides
from podplan.tools.graph.text_width import fit_text

LANE_SPACING = 13  # between arrows that pass other cards
CALL_LINE_HEIGHT = 17  # of a label between cards
_ARROW_SPACING = 14  # between adjacent arrows
_LABEL_SIZE = 11


class Curve(NamedTuple):
    """A curve between a card and a box beside it, left to right; ``kind`` is that of the box.

    ``shared_end`` is the end, left or right, that is at the frame of the gang and means all its cards.
    """

    kind: str
    x1: int
    y1: int
    x2: int
    y2: int
    shared_end: str = ""


class Arrow(NamedTuple):
    """Straight segments from the caller to the called, and a label at ``label_position``."""

    points: tuple[tuple[int, int], ...]
    is_mutual: bool
    label: str
    label_position: tuple[int, int]


class Gap(NamedTuple):
    """Space below a card: the calls between it and the next, and the lanes with their label here."""

    y: int
    calls: tuple[Call, ...]
    lanes: tuple[Call, ...]


def find_upper_index(call: Call, order: Mapping[str, int]) -> int:
    return min(order[call.source], order[call.target])


def count_passed_cards(call: Call, order: Mapping[str, int]) -> int:
    return abs(order[call.source] - order[call.target])


def route_curves(
    graph: Graph, cards: Mapping[str, PlacedCard], sides: Mapping[str, PlacedSideBox], gang: Box | None
) -> tuple[Curve, ...]:
    """Build a curve for each link; its ends are on the edges in the order of their targets.

    What all cards of a gang share is connected to its frame with one curve.
    """
    shared_sides = find_shared_sides(graph) if gang is not None else frozenset()
    card_ports: dict[tuple[str, str], int] = {}
    side_ports: dict[tuple[str, str], int] = {}
    single_links = [
        link for link in graph.links if (link.side not in shared_sides) or not cards[link.card].card.in_gang
    ]
    for is_left in (True, False):
        links = [link for link in single_links if sides[link.side].side.is_left == is_left]
        for card in cards.values():
            card_links = sorted(
                (sides[link.side].box.y, link.side) for link in links if link.card == card.card.id
            )
            preferred = [sides[side].box.y + sides[side].box.height // 2 for _, side in card_links]
            for (_, side), y in zip(card_links, _spread_ends(preferred, card.box), strict=True):
                card_ports[card.card.id, side] = y
        for placed_side in sides.values():
            theirs = [(card_ports[one], one) for one in links if one.side == placed_side.side.id]
            for (_, one), y in zip(
                sorted(theirs), _spread_ends([y for y, _ in sorted(theirs)], placed_side.box), strict=True
            ):
                side_ports[one] = y
    single_curves = [
        _route_curve(cards[one.card], sides[one.side], card_ports[one], side_ports[one])
        for one in single_links
    ]
    return (
        *single_curves,
        *(
            _route_to_frame(sides[id].box, sides[id].side, gang)
            for id in sorted(shared_sides)
            if gang is not None
        ),
    )


def _route_to_frame(box: Box, side: SideBox, gang: Box) -> Curve:
    y = box.y + box.height // 2
    end = max(gang.y + 14, min(y, gang.bottom - 14))
    if side.is_left:
        return Curve(side.kind, box.right, y, gang.x, end, "right")
    return Curve(side.kind, gang.right, end, box.x, y, "left")


def _route_curve(card: PlacedCard, placed_side: PlacedSideBox, card_y: int, side_y: int) -> Curve:
    if placed_side.side.is_left:
        return Curve(placed_side.side.kind, placed_side.box.right, side_y, card.box.x, card_y)
    return Curve(placed_side.side.kind, card.right, card_y, placed_side.box.x, side_y)


def _spread_ends(preferred: Sequence[int], box: Box, min_distance: int = 12) -> list[int]:
    """Place ends on the edge of a box, near their preferred positions and in their order."""
    low, high = box.y + 14, box.bottom - 14
    if len(preferred) > 1:
        min_distance = min(min_distance, max(1, (high - low) // (len(preferred) - 1)))
    ends: list[int] = []
    for i, y in enumerate(preferred):
        lowest = ends[-1] + min_distance if ends else low
        highest = high - min_distance * (len(preferred) - 1 - i)
        ends.append(max(lowest, min(y, highest)))
    return ends


def route_row_arrows(graph: Graph, cards: Mapping[str, PlacedCard]) -> list[Arrow]:
    """Route the calls between rows of one card."""
    arrows = []
    for call in graph.calls:
        if call.source == call.target:
            rows = cards[call.source].rows
            x = rows[0].x + 26
            upper, lower = sorted((call.source_row, call.target_row))
            points = ((x, rows[lower].y), (x, rows[upper].bottom))
            middle = (rows[lower].y + rows[lower - 1].bottom) // 2
            arrows.append(
                _build_arrow(
                    call, points, call.source_row == lower, (x + 12, middle + 4), rows[0].right - x - 12
                )
            )
    return arrows


def route_adjacent_arrows(
    order: Mapping[str, int], placed: Sequence[PlacedCard], gaps: Sequence[Gap]
) -> list[Arrow]:
    """Route the calls between adjacent cards, side by side, labels on their right."""
    arrows = []
    for i, gap in enumerate(gaps):
        if gap.calls:
            box, lower_y = placed[i].box, placed[i + 1].box.y
            first = box.x + (box.width * 11 // 20 if gap.lanes else 38)
            labels = first + _ARROW_SPACING * (len(gap.calls) - 1) + 12
            top = (gap.y + lower_y - CALL_LINE_HEIGHT * len(gap.calls)) // 2 + 12
            for n, call in enumerate(gap.calls):
                x = first + _ARROW_SPACING * n
                up = order[call.source] > order[call.target]
                label_position = (labels, top + CALL_LINE_HEIGHT * n)
                arrow = _build_arrow(call, ((x, lower_y), (x, gap.y)), up, label_position, box.right - labels)
                if len(gap.calls) > 1:
                    arrow = arrow._replace(
                        label=f"{'↕' if call.is_mutual else '↑' if up else '↓'} {arrow.label}"
                    )
                arrows.append(arrow)
    return arrows


def route_lane_arrows(
    lanes: Sequence[Call], order: Mapping[str, int], placed: Sequence[PlacedCard], gaps: Sequence[Gap]
) -> list[Arrow]:
    """Route the calls that pass other cards, on lanes left of them, shorter ones nearer."""
    arrows = []
    for n, call in enumerate(lanes):
        first = find_upper_index(call, order)
        upper, lower = placed[first], placed[first + count_passed_cards(call, order)]
        edge = upper.box.x
        x = edge - LANE_SPACING * (n + 1) + 3
        start, end = lower.box.y + 20 + 9 * n, upper.box.bottom - 20 - 9 * n
        i, gap = next((i, gap) for i, gap in enumerate(gaps) if call in gap.lanes)
        rows = len(gap.lanes)
        top = (gap.y + placed[i + 1].box.y - CALL_LINE_HEIGHT * rows) // 2 + 12
        label_position = (edge + 4, top + CALL_LINE_HEIGHT * gap.lanes.index(call))
        points = ((edge, start), (x, start), (x, end), (edge, end))
        up = order[call.source] > order[call.target]
        label_width = upper.box.width * 11 // 20 - 20 if gap.calls else upper.box.width - 10
        arrows.append(_build_arrow(call, points, up, label_position, label_width))
    return arrows


def _build_arrow(
    call: Call,
    points: tuple[tuple[int, int], ...],
    up: bool,
    label_position: tuple[int, int],
    label_width: int,
) -> Arrow:
    """Build an arrow from ``points``, which lead up; they are reversed if the call goes down."""
    return Arrow(
        points if up else points[::-1],
        call.is_mutual,
        fit_text(call.label, label_width, _LABEL_SIZE, True),
        label_position,
    )
