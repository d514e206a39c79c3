"""Replica groups: one template for all lowered objects that differ only in their index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.indexed_text import Digest, Indexed, ListedTexts, Listing, RepeatedLine
from podplan.core.limits import MAX_EXPANDED_REPLICAS, LimitExceeded, limit_exceeded
from podplan.core.provenance import (
    Behavior,
    Flag,
    Path,
    ReplicaText,
    Traced,
    TracedDocument,
    build_traced_document,
)
from podplan.core.typing import Any, NamedTuple

_COMMAND_FIELDS = frozenset(("command", "args"))
CONFIGURED_BASIS = "configured"  # the basis of a behavior whose value the configuration sets


class ReplicaGroup(NamedTuple):
    """Objects that are equal except for the index: ``doc`` is the one at index ``start``, of ``replicas`` in
    all.

    ``replica_type`` is "" for an object that exists once per job. ``training_container_index`` is the index
    of the training container, for Pods.
    """

    doc: TracedDocument
    replica_type: str = ""
    start: int = 0
    replicas: int = 1
    training_container_index: int | None = None

    @property
    def indexes(self) -> str:
        """The range of indexes as text, such as "0-31"; empty for an object that exists only once."""
        if not self.replica_type:
            return ""
        last = self.start + self.replicas - 1
        return str(self.start) if last == self.start else f"{self.start}-{last}"


class StatedValue(NamedTuple):
    """The value of a lowering option that an object of the repository states, and where it is written."""

    value: Any
    source: str


class LoweringOptions(NamedTuple):
    """Options of lowering besides the CR.

    ``uid`` is the metadata.uid that children are named by, if the CR itself has none. ``resumed`` lowers a
    paused job as if it were resumed. ``behavior_values`` replaces the values of behaviors by id, and below
    the name of a kind or an API group for that one alone; ``kind`` and ``group`` are those of the CR that is
    lowered. ``stated_values`` are those that the operator of the CR has by its own flags, for behaviors that
    the configuration does not set.
    """

    uid: str = ""
    resumed: bool = False
    behavior_values: Mapping[str, Any] = {}
    kind: str = ""
    group: str = ""
    stated_values: Mapping[str, StatedValue] = {}

    @property
    def operator_versions(self) -> dict[str, str]:
        """The versions of operators that the configuration states, by API group."""
        sections = self.behavior_values.items()
        return {
            group: str(values["version"])
            for group, values in sections
            if isinstance(values, dict) and "version" in values
        }

    def find_operator_version(self, default: str) -> str:
        """The version of the operator that the configuration states for the API group of the CR."""
        return str(self.behavior_values.get(self.group, {}).get("version", default))

    def find_setting(self, group: str, id_: str) -> StatedValue | None:
        """Return what the configuration sets for all kinds of an API group, and the key that does."""
        section = self.behavior_values.get(group, {})
        if id_ in section:
            return StatedValue(section[id_], f"lowering.{group}.{id_}")
        if id_ in self.behavior_values:
            return StatedValue(self.behavior_values[id_], f"lowering.{id_}")
        return None

    def resolve_behavior(self, behavior: Behavior) -> Behavior:
        """Return ``behavior`` with the value from the configuration, or from the flags of the operator."""
        if not self.behavior_values and not self.stated_values:
            return behavior
        for section in (self.kind, self.group):
            values = self.behavior_values.get(section, {})
            if behavior.id in values:
                source = f"lowering.{section}.{behavior.id}"
                return behavior._replace(value=values[behavior.id], basis=CONFIGURED_BASIS, source=source)
        if behavior.id in self.behavior_values:
            value, source = self.behavior_values[behavior.id], f"lowering.{behavior.id}"
            return behavior._replace(value=value, basis=CONFIGURED_BASIS, source=source)
        if stated := self.stated_values.get(behavior.id):
            return behavior._replace(value=stated.value, basis=CONFIGURED_BASIS, source=stated.source)
        return behavior

    def first_configured(self, behavior: Behavior, *others: Behavior) -> Behavior:
        """Return the first of several behaviors that the configuration sets, else ``behavior``."""
        if not self.behavior_values and not self.stated_values:
            return behavior
        resolved = [self.resolve_behavior(one) for one in (behavior, *others)]
        return next((one for one in resolved if one.basis == CONFIGURED_BASIS), resolved[0])


UID_FLAG = Flag("--uid")


def build_group(tree: Traced, replica_type: str = "", start: int = 0, replicas: int = 1) -> ReplicaGroup:
    """Build the group whose object at index ``start`` a traced tree describes."""
    kind, metadata = tree.value["kind"], tree.value["metadata"]
    name = metadata["name"] if "name" in metadata else metadata["generateName"]
    text = name.value if isinstance(name, Traced) else name
    name_text = text.text_at(start) if isinstance(text, Indexed) else text
    return ReplicaGroup(
        build_traced_document(tree, f"{kind}/{name_text}", start), replica_type, start, replicas
    )


def find_name_path(doc: TracedDocument) -> Path:
    """Return the path of the name of an object, or of the start of a name that the API server completes."""
    return ("metadata", "name" if "name" in doc.data["metadata"] else "generateName")


def find_object_name(doc: TracedDocument) -> str:
    """Return the name of an object, or the beginning of a name that the API server completes."""
    metadata = doc.data["metadata"]
    return str(metadata.get("name") or metadata.get("generateName", ""))


def find_name_text(doc: TracedDocument) -> ReplicaText | None:
    """Return how the name of an object depends on its index; None if it does not."""
    return doc.replica_texts.get(find_name_path(doc))


def expand_group(group: ReplicaGroup) -> Iterator[dict[str, Any]]:
    """Yield the objects of a group in full, in order of their index.

    Raises LimitExceeded: for more than ``MAX_EXPANDED_REPLICAS`` replicas, or as many lines in a text.
    """
    replica_count = max(
        [group.replicas, *(_count_listed_replicas(text) for text in group.doc.replica_texts.values())]
    )
    require_expandable(group.doc.name, replica_count)
    for index in range(group.start, group.start + group.replicas):
        yield build_at_index(group.doc, index)


def require_expandable(subject: str, replicas: int) -> None:
    """Raises LimitExceeded: if there are more replicas than podplan writes out."""
    if replicas > MAX_EXPANDED_REPLICAS:
        message = (
            f"{subject} is about {replicas} replicas, too many to write them all out; "
            "--fold prints one template for all of them"
        )
        raise LimitExceeded(limit_exceeded("replicas", message))


def _count_listed_replicas(text: ReplicaText) -> int:
    """How many replicas a text lists."""
    if isinstance(text, Indexed | Digest):
        return 0
    return sum(piece.replicas for piece in text.pieces if isinstance(piece, RepeatedLine))


def build_at_index(doc: TracedDocument, index: int) -> dict[str, Any]:
    """Return the object of ``doc`` at one index; parts that do not depend on the index are shared."""
    return _write_texts(doc, doc.replica_texts, index)


def build_folded_at_index(doc: TracedDocument, index: int) -> dict[str, Any]:
    """Return the object of ``doc`` at one index with folded lists of all replicas, but for command lines.

    Its size does not depend on the number of replicas, unless a command line lists them.
    """
    texts = {
        path: text
        for path, text in doc.replica_texts.items()
        if not isinstance(text, Listing | ListedTexts) or not _COMMAND_FIELDS.isdisjoint(path)
    }
    return _write_texts(doc, texts, index)


def _write_texts(doc: TracedDocument, texts: Mapping[Path, ReplicaText], index: int) -> dict[str, Any]:
    data: dict[str, Any] = dict(doc.data)
    copies: dict[Path, Any] = {(): data}
    for path, text in texts.items():
        _set_path(copies, path, text.text_at(index))
    return data


def _set_path(copies: dict[Path, Any], path: Path, value: str | list[str]) -> None:
    """Set ``path`` in the tree whose root copy is ``copies[()]``, copying each container on the path once."""
    for cut in range(1, len(path)):
        if path[:cut] not in copies:
            parent = copies[path[: cut - 1]]
            copies[path[:cut]] = parent[path[cut - 1]] = _copy_shallow(parent[path[cut - 1]])
    copies[path[:-1]][path[-1]] = value


def _copy_shallow(container: Any) -> Any:
    return dict(container) if isinstance(container, dict) else list(container)


def fold_group(group: ReplicaGroup) -> dict[str, Any]:
    """Return the object of a group with the index written as a range, such as ``train-worker-{0..31}``."""
    data: dict[str, Any] = dict(group.doc.data)
    copies: dict[Path, Any] = {(): data}
    for path, text in group.doc.replica_texts.items():
        if isinstance(text, Indexed):
            text = Listing((text,))
        _set_path(copies, path, text.folded_text(group.start, group.replicas))
    return data
