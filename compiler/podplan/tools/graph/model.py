"""The content of a graph: plain texts for people."""

from __future__ import annotations

from podplan.core.typing import NamedTuple


class Row(NamedTuple):
    """Pods of one template, if a role has several: "worker 1-31", and what it ``runs``."""

    name: str
    runs: str


class Card(NamedTuple):
    """What runs: the Pods of a role, or a TensorBoard.

    ``chip`` is the total of its GPUs, and ``fields`` are labels with their values. Pods of several templates
    have ``rows``. ``in_gang``: they start together; ``has_many``: there are several.
    """

    id: str
    kind: str
    title: str
    name: str
    chip: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    rows: tuple[Row, ...] = ()
    in_gang: bool = False
    has_many: bool = False


class SideBox(NamedTuple):
    """A box beside the Pods: with ``is_left`` their configuration, otherwise what they serve or mount.

    ``is_created``: the controller creates it for the job; other objects must exist already.
    """

    id: str
    kind: str
    name: str
    lines: tuple[str, ...] = ()
    is_left: bool = False
    is_created: bool = False


class Link(NamedTuple):
    """A card and what it reads, mounts or is served by, by their ids."""

    card: str
    side: str


class Call(NamedTuple):
    """Pods that name the host of others, by the ids of the cards.

    ``source_row`` and ``target_row`` are 0-based if both are on one card. ``labels`` are where the host is
    named, and the port; ``is_mutual`` means both directions.
    """

    source: str
    target: str
    labels: tuple[str, ...]
    is_mutual: bool = False
    source_row: int = 0
    target_row: int = 0

    @property
    def label(self) -> str:
        more = len(self.labels) - 2
        return ", ".join(self.labels[:2]) + (f" +{more}" if more > 0 else "")


class Gang(NamedTuple):
    """The PodGroup: its name, and in words how many Pods start together, in which queue."""

    name: str
    line: str


class Graph(NamedTuple):
    """One job. ``totals`` counts its Pods and GPUs; ``note`` is the reason if nothing runs."""

    name: str
    kind: str
    tags: tuple[str, ...]
    totals: str
    note: str = ""
    gang: Gang | None = None
    cards: tuple[Card, ...] = ()
    sides: tuple[SideBox, ...] = ()
    links: tuple[Link, ...] = ()
    calls: tuple[Call, ...] = ()


def find_shared_sides(graph: Graph) -> frozenset[str]:
    """Return the ids of the boxes that all cards of a gang share: they belong to the gang as a whole."""
    gang = {card.id for card in graph.cards if card.in_gang}
    cards_by_side: dict[str, set[str]] = {}
    for link in graph.links:
        cards_by_side.setdefault(link.side, set()).add(link.card)
    return frozenset(side for side, those in cards_by_side.items() if len(gang) > 1 and gang <= those)


def describe_graph(graph: Graph) -> str:
    """Describe the graph in sentences, as alternative text."""
    return " ".join([f"{graph.name}: {graph.kind}, {graph.totals}.", *_list_sentences(graph)])


def _list_sentences(graph: Graph) -> list[str]:
    titles = {card.id: card.title for card in graph.cards}
    sides = {side.id: side for side in graph.sides}
    sentences = [f"{graph.note}."] if graph.note else []
    if graph.gang is not None:
        sentences.append(f"PodGroup {graph.gang.name}: {graph.gang.line}.")
    for card in graph.cards:
        fields = "".join(f", {label} {value}" for label, value in card.fields)
        linked_sides = [sides[link.side] for link in graph.links if link.card == card.id]
        linked = "".join(f", {side.kind} {side.name}" for side in linked_sides)
        sentences.append(f"{card.title}{f' ({card.chip})' if card.chip else ''}{fields}{linked}.")
    for call in graph.calls:
        ends = (titles[call.source], titles[call.target])
        if call.source == call.target:
            rows = next(card.rows for card in graph.cards if card.id == call.source)
            ends = (rows[call.source_row].name, rows[call.target_row].name)
        sentences.append(f"{ends[0]} {'and' if call.is_mutual else 'to'} {ends[1]}: {call.label}.")
    return sentences
