"""Matches real objects with predicted ones: by name or what it is generated from, else by replica type and
index, else the remaining one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from podplan.core.limits import MAX_EXPANDED_REPLICAS, LimitExceeded, limit_exceeded
from podplan.core.replica_groups import ReplicaGroup, build_at_index
from podplan.core.typing import Any, NamedTuple
from podplan.tools.cluster_diff.kubectl_dump import KubernetesObject


class PredictedObject(NamedTuple):
    """One lowered object: its replica group, its index, and the complete object."""

    group: ReplicaGroup
    replica_index: int
    object: KubernetesObject

    @property
    def kind(self) -> str:
        return str(self.object["kind"])

    @property
    def name(self) -> str:
        metadata = self.object["metadata"]
        return str(metadata.get("name") or metadata.get("generateName", ""))


class ObjectPair(NamedTuple):
    """A predicted object and the matching real one."""

    predicted: PredictedObject
    real: KubernetesObject


class ObjectMatches(NamedTuple):
    """The pairs, the predicted objects that do not exist, and the real objects that were not predicted."""

    pairs: list[ObjectPair]
    missing_objects: list[PredictedObject]
    extra_objects: list[KubernetesObject]


def expand_groups(groups: Iterable[ReplicaGroup], kinds: frozenset[str]) -> list[PredictedObject]:
    """Return the objects of groups of some kinds. Raises LimitExceeded: if there are too many."""
    matching_groups = [group for group in groups if group.doc.data["kind"] in kinds]
    if sum(group.replicas for group in matching_groups) > MAX_EXPANDED_REPLICAS:
        message = f"a job of more than {MAX_EXPANDED_REPLICAS} objects is not compared"
        raise LimitExceeded(limit_exceeded("replicas", message))
    return [
        PredictedObject(group, index, build_at_index(group.doc, index))
        for group in matching_groups
        for index in range(group.start, group.start + group.replicas)
    ]


def match_objects(predicted: list[PredictedObject], real: list[KubernetesObject]) -> ObjectMatches:
    """Match the objects, in the order of the prediction."""
    unmatched = {(one["kind"], one["metadata"]["name"]): one for one in real}
    match_by_number = {
        number: unmatched.pop((one.kind, one.name), None) for number, one in enumerate(predicted)
    }
    for number, predicted_object in enumerate(predicted):
        if match_by_number[number] is None and "name" not in predicted_object.object["metadata"]:
            match_by_number[number] = _take_first(
                unmatched,
                predicted_object.kind,
                lambda other, one=predicted_object: _is_generated(other, one),
            )
    for number, predicted_object in enumerate(predicted):
        if match_by_number[number] is None and predicted_object.group.replica_type:
            match_by_number[number] = _take_first(
                unmatched, predicted_object.kind, lambda other, one=predicted_object: _is_replica(other, one)
            )
    for number, predicted_object in enumerate(predicted):
        candidates = [key for key in unmatched if key[0] == predicted_object.kind]
        unmatched_predicted = [
            other
            for n, other in enumerate(predicted)
            if match_by_number[n] is None and other.kind == predicted_object.kind
        ]
        if match_by_number[number] is None and len(candidates) == 1 == len(unmatched_predicted):
            match_by_number[number] = unmatched.pop(candidates[0])
    pairs = [
        ObjectPair(one, other)
        for number, one in enumerate(predicted)
        if (other := match_by_number[number]) is not None
    ]
    missing = [one for number, one in enumerate(predicted) if match_by_number[number] is None]
    return ObjectMatches(pairs, missing, list(unmatched.values()))


def _take_first(
    unmatched: dict[tuple[str, str], KubernetesObject], kind: str, fits: Any
) -> KubernetesObject | None:
    key = next((key for key, one in unmatched.items() if key[0] == kind and fits(one)), None)
    return unmatched.pop(key) if key is not None else None


def _is_generated(real: KubernetesObject, predicted: PredictedObject) -> bool:
    """Whether the API server made the name of a real object from the generateName of a predicted one."""
    return bool(real["metadata"].get("generateName") == predicted.name)


def _is_replica(real: KubernetesObject, predicted: PredictedObject) -> bool:
    """Whether a real object belongs to the same replica as a predicted one."""
    role, index = predicted.group.replica_type, predicted.replica_index
    selector = (real.get("spec") or {}).get("selector") if real["kind"] == "Service" else None
    labels = {**(selector or {}), **(real["metadata"].get("labels") or {})}
    if labels.get("replica-type"):
        return bool(labels["replica-type"] == role and str(labels.get("replica-index", index)) == str(index))
    name = str(labels.get("genericjob-replica") or real["metadata"]["name"])
    if predicted.group.replicas == 1 and predicted.name.endswith(f"-{role}"):
        return re.search(rf"(^|-){re.escape(role)}(-|$)", name) is not None
    return re.search(rf"(^|-){re.escape(role)}-(.*-)?{index}$", name) is not None
