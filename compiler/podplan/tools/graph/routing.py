"""Ways of curves between the columns, and of arrows between cards and between the rows of a card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podplan.core.typing import NamedTuple
from podplan.tools.graph.boxes import Box, CardAt, SideAt
from podplan.tools.graph.model import Call, Picture, Side, shared
from podplan.tools.graph.text_width import fit

LANE = 13  # between arrows that pass other cards
CALL_LINE = 17  # of a label between cards
_BESIDE = 14  # between arrows that stand side by side
_LABEL = 11


class Curve(NamedTuple):
    """From a card or a side at its edge to the other, left to right; ``kind`` is that of the side.

    ``all`` is the end, left or right, that is at the frame of the gang and stands for all cards in it.
    """

    kind: str
    x1: int
    y1: int
    x2: int
    y2: int
    all: str = ""


class Arrow(NamedTuple):
    """Straight pieces from who calls to who is called, and a label that begins at ``at``."""

    points: tuple[tuple[int, int], ...]
    both: bool
    label: str
    at: tuple[int, int]


class Gap(NamedTuple):
    """Below a card: the calls between it and the next, and the lanes that have their label here."""

    y: int
    calls: tuple[Call, ...]
    lanes: tuple[Call, ...]


def low(call: Call, order: Mapping[str, int]) -> int:
    return min(order[call.source], order[call.target])


def span(call: Call, order: Mapping[str, int]) -> int:
    return abs(order[call.source] - order[call.target])


def curves(
    picture: Picture, cards: Mapping[str, CardAt], sides: Mapping[str, SideAt], gang: Box | None
) -> tuple[Curve, ...]:
    """A curve for each link; its ends are on the edges in the order of what they lead to.

    What all cards of a gang have leads to its frame with one curve.
    """
    common = shared(picture) if gang is not None else frozenset()
    card_ports: dict[tuple[str, str], int] = {}
    side_ports: dict[tuple[str, str], int] = {}
    single = [link for link in picture.links if (link.side not in common) or not cards[link.card].card.gang]
    for left in (True, False):
        links = [link for link in single if sides[link.side].side.left == left]
        for card in cards.values():
            mine = sorted((sides[link.side].box.y, link.side) for link in links if link.card == card.card.id)
            wanted = [sides[side].box.y + sides[side].box.height // 2 for _, side in mine]
            for (_, side), y in zip(mine, _spread(wanted, card.box), strict=True):
                card_ports[card.card.id, side] = y
        for at in sides.values():
            theirs = [(card_ports[one], one) for one in links if one.side == at.side.id]
            for (_, one), y in zip(
                sorted(theirs), _spread([y for y, _ in sorted(theirs)], at.box), strict=True
            ):
                side_ports[one] = y
    found = [_curve(cards[one.card], sides[one.side], card_ports[one], side_ports[one]) for one in single]
    return (
        *found,
        *(_to_frame(sides[id].box, sides[id].side, gang) for id in sorted(common) if gang is not None),
    )


def _to_frame(box: Box, side: Side, gang: Box) -> Curve:
    y = box.y + box.height // 2
    end = max(gang.y + 14, min(y, gang.bottom - 14))
    if side.left:
        return Curve(side.kind, box.right, y, gang.x, end, "right")
    return Curve(side.kind, gang.right, end, box.x, y, "left")


def _curve(card: CardAt, at: SideAt, card_y: int, side_y: int) -> Curve:
    if at.side.left:
        return Curve(at.side.kind, at.box.right, side_y, card.box.x, card_y)
    return Curve(at.side.kind, card.right, card_y, at.box.x, side_y)


def _spread(wanted: Sequence[int], box: Box, apart: int = 12) -> list[int]:
    """Ends on the edge of a box, near to where they want to be and in their order."""
    low, high = box.y + 14, box.bottom - 14
    if len(wanted) > 1:
        apart = min(apart, max(1, (high - low) // (len(wanted) - 1)))
    found: list[int] = []
    for i, y in enumerate(wanted):
        least = found[-1] + apart if found else low
        most = high - apart * (len(wanted) - 1 - i)
        found.append(max(least, min(y, most)))
    return found


def inside(picture: Picture, cards: Mapping[str, CardAt]) -> list[Arrow]:
    """The calls between rows of one card."""
    arrows = []
    for call in picture.calls:
        if call.source == call.target:
            rows = cards[call.source].rows
            x = rows[0].x + 26
            upper, lower = sorted((call.source_row, call.target_row))
            points = ((x, rows[lower].y), (x, rows[upper].bottom))
            middle = (rows[lower].y + rows[lower - 1].bottom) // 2
            arrows.append(
                _arrow(call, points, call.source_row == lower, (x + 12, middle + 4), rows[0].right - x - 12)
            )
    return arrows


def adjacent(order: Mapping[str, int], placed: Sequence[CardAt], gaps: Sequence[Gap]) -> list[Arrow]:
    """The calls between cards that stand below one another, side by side, labels right of them."""
    arrows = []
    for i, gap in enumerate(gaps):
        if gap.calls:
            box, below = placed[i].box, placed[i + 1].box.y
            first = box.x + (box.width * 11 // 20 if gap.lanes else 38)
            labels = first + _BESIDE * (len(gap.calls) - 1) + 12
            top = (gap.y + below - CALL_LINE * len(gap.calls)) // 2 + 12
            for n, call in enumerate(gap.calls):
                x = first + _BESIDE * n
                up = order[call.source] > order[call.target]
                at = (labels, top + CALL_LINE * n)
                arrow = _arrow(call, ((x, below), (x, gap.y)), up, at, box.right - labels)
                if len(gap.calls) > 1:
                    arrow = arrow._replace(label=f"{'↕' if call.both else '↑' if up else '↓'} {arrow.label}")
                arrows.append(arrow)
    return arrows


def round_about(
    lanes: Sequence[Call], order: Mapping[str, int], placed: Sequence[CardAt], gaps: Sequence[Gap]
) -> list[Arrow]:
    """The calls that pass other cards, on lanes left of them, shorter ones nearer."""
    arrows = []
    for n, call in enumerate(lanes):
        first = low(call, order)
        upper, lower = placed[first], placed[first + span(call, order)]
        edge = upper.box.x
        x = edge - LANE * (n + 1) + 3
        start, end = lower.box.y + 20 + 9 * n, upper.box.bottom - 20 - 9 * n
        i, gap = next((i, gap) for i, gap in enumerate(gaps) if call in gap.lanes)
        rows = len(gap.lanes)
        top = (gap.y + placed[i + 1].box.y - CALL_LINE * rows) // 2 + 12
        at = (edge + 4, top + CALL_LINE * gap.lanes.index(call))
        points = ((edge, start), (x, start), (x, end), (edge, end))
        up = order[call.source] > order[call.target]
        room = upper.box.width * 11 // 20 - 20 if gap.calls else upper.box.width - 10
        arrows.append(_arrow(call, points, up, at, room))
    return arrows


def _arrow(
    call: Call, points: tuple[tuple[int, int], ...], up: bool, at: tuple[int, int], room: int
) -> Arrow:
    """``points`` lead up; they are turned round where the call goes down."""
    return Arrow(points if up else points[::-1], call.both, fit(call.label, room, _LABEL, True), at)
