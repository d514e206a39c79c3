"""Graphs as one Mermaid flowchart, for Markdown: the same boxes and arrows, laid out by the viewer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.tools.graph.model import Call, Card, Gang, Graph, SideBox, find_shared_sides
from podplan.tools.graph.text_width import fit_text

_MAX_LINE_WIDTH = 72.0  # characters of a line
_MAX_SIDE_LINES = 6
_CLASSES = {
    "pods": "stroke:#0969da,stroke-width:2px",
    "serve": "stroke:#8250df",
    "config": "stroke:#9a6700",
    "secret": "stroke:#bc4c00",
    "volume": "stroke:#1a7f37",
}
_KINDS = {"ConfigMap": "config", "Secret": "secret"}
_UNESCAPED_CHARACTERS = frozenset(
    " -_.,:/×·…+=$@()~"
)  # characters without a meaning in a label, besides letters and digits


def render_mermaid(pictures: Sequence[Graph]) -> str:
    """Render the graphs as one flowchart; each job is a subgraph."""
    lines = ["flowchart LR"]
    classes: dict[str, list[str]] = {}
    for number, graph in enumerate(pictures):
        lines += [f"  {line}" for line in _render_job(f"j{number}", graph, classes)]
    lines += [f"  classDef {name} {_CLASSES[name]}" for name in classes]
    lines += [f"  class {','.join(ids)} {name}" for name, ids in classes.items()]
    return "\n".join(lines) + "\n"


def format_label(*lines: str) -> str:
    """Return a quoted label of several lines; characters with a meaning in Mermaid or HTML are escaped."""
    return '"' + ("<br/>".join(_escape_text(line) for line in lines if line) or "–") + '"'


def _escape_text(text: str) -> str:
    return "".join(_escape_character(char) for char in fit_text(text, _MAX_LINE_WIDTH, 1.0 / 0.61, mono=True))


def _escape_character(char: str) -> str:
    if (
        (char.isascii() and char.isalnum())
        or char in _UNESCAPED_CHARACTERS
        or (ord(char) > 0xA0 and char.isprintable())
    ):
        return char
    return f"#{ord(char)};" if 0x20 <= ord(char) < 0x7F else "\ufffd"


def _render_job(id_prefix: str, graph: Graph, classes: dict[str, list[str]]) -> Iterator[str]:
    title = " · ".join((graph.name, graph.totals, graph.kind, *graph.tags))
    yield f"subgraph {id_prefix}[{format_label(title)}]"
    own_services = _find_own_services(graph)
    for side in graph.sides:
        if side.is_left:
            yield f"  {_render_side(id_prefix, side, classes)}"
    if graph.note:
        yield f"  {id_prefix}note[{format_label(graph.note)}]"
    gang = [card for card in graph.cards if card.in_gang]
    if graph.gang is not None and gang:
        yield f"  subgraph {id_prefix}g[{format_label(_format_gang_title(graph.gang, graph.name))}]"
        for card in gang:
            yield from (f"    {line}" for line in _render_card(id_prefix, card, graph, own_services, classes))
        yield "  end"
    for card in graph.cards:
        if card not in gang:
            yield from (f"  {line}" for line in _render_card(id_prefix, card, graph, own_services, classes))
    for side in graph.sides:
        if not side.is_left and side.id not in own_services.values():
            yield f"  {_render_side(id_prefix, side, classes)}"
    configuration_ids = {side.id for side in graph.sides if side.is_left}
    for card_id, side_id in _list_links(graph, own_services):
        end_ids = (side_id, card_id) if side_id in configuration_ids else (card_id, side_id)
        yield f"  {id_prefix}{end_ids[0]} --- {id_prefix}{end_ids[1]}"
    for call in graph.calls:
        if call.source != call.target:
            yield f"  {_render_call(f'{id_prefix}{call.source}', f'{id_prefix}{call.target}', call)}"
    yield "end"


def _render_call(source: str, target: str, call: Call) -> str:
    return f"{source} {'<' if call.is_mutual else ''}==>|{format_label(call.label)}| {target}"


def _format_gang_title(gang: Gang, job: str) -> str:
    return f"PodGroup{f' {gang.name}' if gang.name != job else ''} · {gang.line}"


def _find_own_services(graph: Graph) -> dict[str, str]:
    """Return the Service of each card that has its own: it is a line in the label, to save edges."""
    services = {side.id for side in graph.sides if "Service" in side.kind}
    cards_by_service: dict[str, list[str]] = {}
    for link in graph.links:
        if link.side in services:
            cards_by_service.setdefault(link.side, []).append(link.card)
    return {cards[0]: side for side, cards in cards_by_service.items() if len(cards) == 1}


def _list_links(graph: Graph, own_services: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the linked ids; the subgraph of the gang if all its cards have the same link."""
    shared_sides = find_shared_sides(graph)
    gang = {card.id for card in graph.cards if card.in_gang}
    ends = (
        ("g" if card in gang and side in shared_sides else card, side)
        for card, side in graph.links
        if own_services.get(card) != side
    )
    return list(dict.fromkeys(ends))


def _render_card(
    id_prefix: str, card: Card, graph: Graph, own_services: Mapping[str, str], classes: dict[str, list[str]]
) -> Iterator[str]:
    """Render a card as a node; one with rows as a subgraph with a node for each."""
    title = " · ".join(filter(None, (card.title, card.chip)))
    fields = [f"{name}: {value}" for name, value in card.fields]
    for side in graph.sides:
        if own_services.get(card.id) == side.id:
            name = side.name if side.name != card.name else ""
            fields.append(" ".join(filter(None, (side.kind, name, ", ".join(side.lines)))))
    if not card.rows:
        classes.setdefault("pods", []).append(f"{id_prefix}{card.id}")
        yield f"{id_prefix}{card.id}[{format_label(title, card.name, *fields)}]"
        return
    yield f"subgraph {id_prefix}{card.id}[{format_label(title)}]"
    for i, row in enumerate(card.rows):
        classes.setdefault("pods", []).append(f"{id_prefix}{card.id}r{i}")
        yield f"  {id_prefix}{card.id}r{i}[{format_label(row.name, row.runs, *fields)}]"
    for call in graph.calls:
        if call.source == call.target == card.id:
            ends = (f"{id_prefix}{card.id}r{call.source_row}", f"{id_prefix}{card.id}r{call.target_row}")
            yield f"  {_render_call(*ends, call)}"
    yield "end"


def _render_side(id_prefix: str, side: SideBox, classes: dict[str, list[str]]) -> str:
    colour = "serve" if "Service" in side.kind else _KINDS.get(side.kind, "volume")
    classes.setdefault(colour, []).append(f"{id_prefix}{side.id}")
    lines = side.lines[:_MAX_SIDE_LINES]
    more_lines = (
        (f"and {len(side.lines) - _MAX_SIDE_LINES} more",) if len(side.lines) > _MAX_SIDE_LINES else ()
    )
    return f"{id_prefix}{side.id}[{format_label(side.kind, side.name, *lines, *more_lines)}]"
