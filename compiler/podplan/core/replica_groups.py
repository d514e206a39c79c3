"""Lowered objects, folded: one template for all replicas of a type that differ only in their index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.indexed_text import Indexed, Listing, Run
from podplan.core.limits import MAX_REPLICAS_WRITTEN_OUT, BoundExceeded, beyond
from podplan.core.provenance import Doc, Fact, Flag, Marked, Path, split
from podplan.core.typing import Any, NamedTuple

CONFIGURED = "configured"  # the basis of a fact whose value the configuration gives


class Group(NamedTuple):
    """Equal objects but for the index: ``doc`` is the one at index ``start``, and there are ``replicas``.

    ``role`` is the replica type, or "" for an object that the job has only once. ``training`` is the index of
    the container that trains, for Pods.
    """

    doc: Doc
    role: str = ""
    start: int = 0
    replicas: int = 1
    training: int | None = None

    @property
    def indexes(self) -> str:
        """The range of indexes as text, such as "0-31"; empty for an object that exists only once."""
        if not self.role:
            return ""
        last = self.start + self.replicas - 1
        return str(self.start) if last == self.start else f"{self.start}-{last}"


class Options(NamedTuple):
    """What lowering may be told besides the CR.

    ``uid`` is the metadata.uid to name children by, where the CR itself has none. ``resumed`` lowers a
    paused job as it will be when it goes on. ``values`` replaces the values of facts by fact id, and below
    the name of a kind for that kind alone; ``kind`` is the one that is lowered.
    """

    uid: str = ""
    resumed: bool = False
    values: Mapping[str, Any] = {}
    kind: str = ""

    def fact(self, fact: Fact) -> Fact:
        """``fact`` with the value that the configuration gives it, if it does."""
        if not self.values:
            return fact
        of_kind = self.values.get(self.kind, {})
        if fact.id in of_kind:
            source = f"lowering.{self.kind}.{fact.id}"
            return fact._replace(value=of_kind[fact.id], basis=CONFIGURED, source=source)
        if fact.id not in self.values:
            return fact
        return fact._replace(value=self.values[fact.id], basis=CONFIGURED, source=f"lowering.{fact.id}")

    def told(self, fact: Fact, *others: Fact) -> Fact:
        """The first of several facts that the configuration gives a value, else ``fact``."""
        if not self.values:
            return fact
        known = [self.fact(one) for one in (fact, *others)]
        return next((one for one in known if one.basis == CONFIGURED), known[0])


UID_FLAG = Flag("--uid")


def group(tree: Marked, role: str = "", start: int = 0, replicas: int = 1) -> Group:
    """The group whose object at index ``start`` a marked tree describes."""
    kind, name = tree.value["kind"], tree.value["metadata"]["name"]
    text = name.value if isinstance(name, Marked) else name
    label = text.text(start) if isinstance(text, Indexed) else text
    return Group(split(tree, f"{kind}/{label}", start), role, start, replicas)


def expand(lowered: Group) -> Iterator[dict[str, Any]]:
    """The objects of a group in full, in order of their index.

    Raises BoundExceeded when there are more than ``MAX_REPLICAS_WRITTEN_OUT``, or as many lines in a text.
    """
    most = max([lowered.replicas, *(_lines(text) for text in lowered.doc.varies.values())])
    demand_few(lowered.doc.name, most)
    for index in range(lowered.start, lowered.start + lowered.replicas):
        yield at_index(lowered.doc, index)


def demand_few(what: str, replicas: int) -> None:
    """Raises BoundExceeded where there are more replicas than are written out."""
    if replicas > MAX_REPLICAS_WRITTEN_OUT:
        message = (
            f"{what} is about {replicas} replicas, too many to write them all out; "
            "--fold prints one template for all of them"
        )
        raise BoundExceeded(beyond("replicas", message))


def _lines(text: Indexed | Listing) -> int:
    """How many replicas a text lists."""
    if isinstance(text, Indexed):
        return 0
    return sum(piece.replicas for piece in text.pieces if not isinstance(piece, str))


def at_index(doc: Doc, index: int) -> dict[str, Any]:
    """The object that ``doc`` stands for at one index; parts that do not vary are shared."""
    data: dict[str, Any] = dict(doc.data)
    copies: dict[Path, Any] = {(): data}
    for path, text in doc.varies.items():
        _put(copies, path, text.text(index) if isinstance(text, Indexed) else text.text())
    return data


def _put(copies: dict[Path, Any], path: Path, value: str) -> None:
    """Sets ``path`` in the tree whose root copy is ``copies[()]``, copying each container once on the way."""
    for cut in range(1, len(path)):
        if path[:cut] not in copies:
            parent = copies[path[: cut - 1]]
            copies[path[:cut]] = parent[path[cut - 1]] = _shallow(parent[path[cut - 1]])
    copies[path[:-1]][path[-1]] = value


def _shallow(container: Any) -> Any:
    return dict(container) if isinstance(container, dict) else list(container)


def folded(lowered: Group) -> dict[str, Any]:
    """The object of a group with the index written as a range, such as ``train-worker-{0..31}``."""
    data: dict[str, Any] = dict(lowered.doc.data)
    copies: dict[Path, Any] = {(): data}
    for path, text in lowered.doc.varies.items():
        if isinstance(text, Indexed):
            text = Listing((Run(text, lowered.start, lowered.replicas),))
        _put(copies, path, text.folded())
    return data
