"""Which real object is which of the predicted: by name, else by replica type and index, else the one left."""

from __future__ import annotations

import re
from collections.abc import Iterable

from podplan.core.limits import MAX_REPLICAS_WRITTEN_OUT, BoundExceeded, beyond
from podplan.core.replica_groups import Group, at_index
from podplan.core.typing import Any, NamedTuple
from podplan.tools.cluster_diff.kubectl_dump import Object


class Predicted(NamedTuple):
    """One lowered object: its group, its index among the replicas, and the whole object."""

    group: Group
    number: int
    object: Object

    @property
    def kind(self) -> str:
        return str(self.object["kind"])

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])


class Pair(NamedTuple):
    """A predicted object and the real one."""

    predicted: Predicted
    real: Object


class Matched(NamedTuple):
    """The pairs, what is not there in reality, and what is there and was not predicted."""

    pairs: list[Pair]
    missing: list[Predicted]
    extra: list[Object]


def written_out(groups: Iterable[Group], kinds: frozenset[str]) -> list[Predicted]:
    """The objects of groups of some kinds. Raises BoundExceeded for too many."""
    listed = [group for group in groups if group.doc.data["kind"] in kinds]
    if sum(group.replicas for group in listed) > MAX_REPLICAS_WRITTEN_OUT:
        message = f"a job of more than {MAX_REPLICAS_WRITTEN_OUT} objects is not compared"
        raise BoundExceeded(beyond("replicas", message))
    return [
        Predicted(group, index, at_index(group.doc, index))
        for group in listed
        for index in range(group.start, group.start + group.replicas)
    ]


def matched(predicted: list[Predicted], real: list[Object]) -> Matched:
    """Pairs in the order of the prediction."""
    free = {(one["kind"], one["metadata"]["name"]): one for one in real}
    found = {number: free.pop((one.kind, one.name), None) for number, one in enumerate(predicted)}
    for number, one in enumerate(predicted):
        if found[number] is None and one.group.role:
            found[number] = _taken(free, one.kind, lambda other, one=one: _is_replica(other, one))
    for number, one in enumerate(predicted):
        left = [key for key in free if key[0] == one.kind]
        wanting = [other for n, other in enumerate(predicted) if found[n] is None and other.kind == one.kind]
        if found[number] is None and len(left) == 1 == len(wanting):
            found[number] = free.pop(left[0])
    pairs = [Pair(one, other) for number, one in enumerate(predicted) if (other := found[number]) is not None]
    missing = [one for number, one in enumerate(predicted) if found[number] is None]
    return Matched(pairs, missing, list(free.values()))


def _taken(free: dict[tuple[str, str], Object], kind: str, fits: Any) -> Object | None:
    key = next((key for key, one in free.items() if key[0] == kind and fits(one)), None)
    return free.pop(key) if key is not None else None


def _is_replica(real: Object, predicted: Predicted) -> bool:
    """Whether a real object belongs to the replica that a predicted one is of."""
    role, index = predicted.group.role, predicted.number
    selected = (real.get("spec") or {}).get("selector") if real["kind"] == "Service" else None
    labels = {**(selected or {}), **(real["metadata"].get("labels") or {})}
    if labels.get("replica-type"):
        return bool(labels["replica-type"] == role and str(labels.get("replica-index", index)) == str(index))
    name = str(labels.get("genericjob-replica") or real["metadata"]["name"])
    if predicted.group.replicas == 1 and predicted.object["metadata"]["name"].endswith(f"-{role}"):
        return re.search(rf"(^|-){re.escape(role)}(-|$)", name) is not None
    return re.search(rf"(^|-){re.escape(role)}-(.*-)?{index}$", name) is not None
