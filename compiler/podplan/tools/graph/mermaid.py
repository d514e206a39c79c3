"""Pictures as one Mermaid flowchart, for Markdown: the same boxes and arrows, laid out by who shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.tools.graph.model import Call, Card, Gang, Picture, Side, shared
from podplan.tools.graph.text_width import fit

_MOST = 72.0  # characters of a line
_MOST_LINES = 6
_CLASSES = {
    "pods": "stroke:#0969da,stroke-width:2px",
    "serve": "stroke:#8250df",
    "config": "stroke:#9a6700",
    "secret": "stroke:#bc4c00",
    "volume": "stroke:#1a7f37",
}
_KINDS = {"ConfigMap": "config", "Secret": "secret"}
_PLAIN = frozenset(" -_.,:/×·…+=$@()~")  # beside letters and digits: what means nothing in a label


def mermaid(pictures: Sequence[Picture]) -> str:
    """The pictures as the text of one flowchart; each job is a subgraph of its own."""
    lines = ["flowchart LR"]
    classes: dict[str, list[str]] = {}
    for number, picture in enumerate(pictures):
        lines += [f"  {line}" for line in _job(f"j{number}", picture, classes)]
    lines += [f"  classDef {name} {_CLASSES[name]}" for name in classes]
    lines += [f"  class {','.join(ids)} {name}" for name, ids in classes.items()]
    return "\n".join(lines) + "\n"


def label(*lines: str) -> str:
    """A label in quotes, of several lines; whatever could mean something to Mermaid or HTML is escaped."""
    return '"' + ("<br/>".join(_escaped(line) for line in lines if line) or "–") + '"'


def _escaped(text: str) -> str:
    return "".join(_character(char) for char in fit(text, _MOST, 1.0 / 0.61, mono=True))


def _character(char: str) -> str:
    if (char.isascii() and char.isalnum()) or char in _PLAIN or (ord(char) > 0xA0 and char.isprintable()):
        return char
    return f"#{ord(char)};" if 0x20 <= ord(char) < 0x7F else "\ufffd"


def _job(at: str, picture: Picture, classes: dict[str, list[str]]) -> Iterator[str]:
    title = " · ".join((picture.name, picture.totals, picture.kind, *picture.tags))
    yield f"subgraph {at}[{label(title)}]"
    own = _own_services(picture)
    for side in picture.sides:
        if side.left:
            yield f"  {_side(at, side, classes)}"
    if picture.note:
        yield f"  {at}note[{label(picture.note)}]"
    gang = [card for card in picture.cards if card.gang]
    if picture.gang is not None and gang:
        yield f"  subgraph {at}g[{label(_title_of_gang(picture.gang, picture.name))}]"
        for card in gang:
            yield from (f"    {line}" for line in _card(at, card, picture, own, classes))
        yield "  end"
    for card in picture.cards:
        if card not in gang:
            yield from (f"  {line}" for line in _card(at, card, picture, own, classes))
    for side in picture.sides:
        if not side.left and side.id not in own.values():
            yield f"  {_side(at, side, classes)}"
    left = {side.id for side in picture.sides if side.left}
    for card_id, side_id in _links(picture, own):
        ends = (side_id, card_id) if side_id in left else (card_id, side_id)
        yield f"  {at}{ends[0]} --- {at}{ends[1]}"
    for call in picture.calls:
        if call.source != call.target:
            yield f"  {_call(f'{at}{call.source}', f'{at}{call.target}', call)}"
    yield "end"


def _call(source: str, target: str, call: Call) -> str:
    return f"{source} {'<' if call.both else ''}==>|{label(call.label)}| {target}"


def _title_of_gang(gang: Gang, job: str) -> str:
    return f"PodGroup{f' {gang.name}' if gang.name != job else ''} · {gang.line}"


def _own_services(picture: Picture) -> dict[str, str]:
    """The Service of each card that no other card has: a line in its label, for fewer lines to lay out."""
    services = {side.id for side in picture.sides if "Service" in side.kind}
    having: dict[str, list[str]] = {}
    for link in picture.links:
        if link.side in services:
            having.setdefault(link.side, []).append(link.card)
    return {cards[0]: side for side, cards in having.items() if len(cards) == 1}


def _links(picture: Picture, own: Mapping[str, str]) -> list[tuple[str, str]]:
    """What is linked to what; with the subgraph of the gang, where all in it have the same."""
    common = shared(picture)
    gang = {card.id for card in picture.cards if card.gang}
    ends = (
        ("g" if card in gang and side in common else card, side)
        for card, side in picture.links
        if own.get(card) != side
    )
    return list(dict.fromkeys(ends))


def _card(
    at: str, card: Card, picture: Picture, own: Mapping[str, str], classes: dict[str, list[str]]
) -> Iterator[str]:
    """A card as a node; one with rows as a subgraph with a node for each."""
    title = " · ".join(filter(None, (card.title, card.chip)))
    fields = [f"{name}: {value}" for name, value in card.fields]
    for side in picture.sides:
        if own.get(card.id) == side.id:
            name = side.name if side.name != card.name else ""
            fields.append(" ".join(filter(None, (side.kind, name, ", ".join(side.lines)))))
    if not card.rows:
        classes.setdefault("pods", []).append(f"{at}{card.id}")
        yield f"{at}{card.id}[{label(title, card.name, *fields)}]"
        return
    yield f"subgraph {at}{card.id}[{label(title)}]"
    for i, row in enumerate(card.rows):
        classes.setdefault("pods", []).append(f"{at}{card.id}r{i}")
        yield f"  {at}{card.id}r{i}[{label(row.name, row.runs, *fields)}]"
    for call in picture.calls:
        if call.source == call.target == card.id:
            ends = (f"{at}{card.id}r{call.source_row}", f"{at}{card.id}r{call.target_row}")
            yield f"  {_call(*ends, call)}"
    yield "end"


def _side(at: str, side: Side, classes: dict[str, list[str]]) -> str:
    colour = "serve" if "Service" in side.kind else _KINDS.get(side.kind, "volume")
    classes.setdefault(colour, []).append(f"{at}{side.id}")
    lines = side.lines[:_MOST_LINES]
    more = (f"and {len(side.lines) - _MOST_LINES} more",) if len(side.lines) > _MOST_LINES else ()
    return f"{at}{side.id}[{label(side.kind, side.name, *lines, *more)}]"
