"""What a picture shows: plain texts, already in the words that people read."""

from __future__ import annotations

from podplan.core.typing import NamedTuple


class Row(NamedTuple):
    """Pods of one template, where a role has several: "worker 1-31", and what it ``runs``."""

    name: str
    runs: str


class Card(NamedTuple):
    """What runs: the Pods of a role, or a TensorBoard.

    ``chip`` is the sum of its GPUs, and ``fields`` are labels with their values. Pods of several templates
    have ``rows``, else none. ``gang``: they start together; ``many``: there are several.
    """

    id: str
    kind: str
    title: str
    name: str
    chip: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    rows: tuple[Row, ...] = ()
    gang: bool = False
    many: bool = False


class Side(NamedTuple):
    """What stands beside the Pods: ``left`` what they are configured with, right what they serve or mount.

    ``made`` says that the controller makes it for the job; the others are expected to be there.
    """

    id: str
    kind: str
    name: str
    lines: tuple[str, ...] = ()
    left: bool = False
    made: bool = False


class Link(NamedTuple):
    """A card and what it reads, mounts or is served by, by their ids."""

    card: str
    side: str


class Call(NamedTuple):
    """Pods that name the host of others, by the ids of the cards.

    ``source_row`` and ``target_row`` are 0-based where both are of one card. ``labels`` say by what they name
    it, and the port; ``both`` stands for the same the other way round.
    """

    source: str
    target: str
    labels: tuple[str, ...]
    both: bool = False
    source_row: int = 0
    target_row: int = 0

    @property
    def label(self) -> str:
        more = len(self.labels) - 2
        return ", ".join(self.labels[:2]) + (f" +{more}" if more > 0 else "")


class Gang(NamedTuple):
    """The PodGroup: its name, and in words how many start together, in which queue."""

    name: str
    line: str


class Picture(NamedTuple):
    """One job. ``totals`` counts its Pods and GPUs; ``note`` says why nothing runs, where nothing does."""

    name: str
    kind: str
    tags: tuple[str, ...]
    totals: str
    note: str = ""
    gang: Gang | None = None
    cards: tuple[Card, ...] = ()
    sides: tuple[Side, ...] = ()
    links: tuple[Link, ...] = ()
    calls: tuple[Call, ...] = ()


def shared(picture: Picture) -> frozenset[str]:
    """The ids of the sides that all cards of a gang of several have: they belong to the gang as a whole."""
    gang = {card.id for card in picture.cards if card.gang}
    having: dict[str, set[str]] = {}
    for link in picture.links:
        having.setdefault(link.side, set()).add(link.card)
    return frozenset(side for side, those in having.items() if len(gang) > 1 and gang <= those)


def said(picture: Picture) -> str:
    """The picture in sentences, for those who do not see it."""
    return " ".join([f"{picture.name}: {picture.kind}, {picture.totals}.", *_sentences(picture)])


def _sentences(picture: Picture) -> list[str]:
    titles = {card.id: card.title for card in picture.cards}
    sides = {side.id: side for side in picture.sides}
    told = [f"{picture.note}."] if picture.note else []
    if picture.gang is not None:
        told.append(f"PodGroup {picture.gang.name}: {picture.gang.line}.")
    for card in picture.cards:
        fields = "".join(f", {label} {value}" for label, value in card.fields)
        beside = [sides[link.side] for link in picture.links if link.card == card.id]
        linked = "".join(f", {side.kind} {side.name}" for side in beside)
        told.append(f"{card.title}{f' ({card.chip})' if card.chip else ''}{fields}{linked}.")
    for call in picture.calls:
        ends = (titles[call.source], titles[call.target])
        if call.source == call.target:
            rows = next(card.rows for card in picture.cards if card.id == call.source)
            ends = (rows[call.source_row].name, rows[call.target_row].name)
        told.append(f"{ends[0]} {'and' if call.both else 'to'} {ends[1]}: {call.label}.")
    return told
