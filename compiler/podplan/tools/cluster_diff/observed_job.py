"""A job that is lowered with some options, and compared with its real objects."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from podplan.core.provenance import Behavior, TracedDocument, root_cursor
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.job_names import compute_job_names
from podplan.kinds.lowering_options import list_lowering_options
from podplan.kinds.registry import GroupVersionKind, find_kind, load_spec, lower_cr, name_of
from podplan.kinds.spec import KindSpec, References
from podplan.tools.cluster_diff.differences import ObjectDifference, compute_cost, find_differences
from podplan.tools.cluster_diff.kubectl_dump import KubernetesObject
from podplan.tools.cluster_diff.object_matching import (
    ObjectMatches,
    ObjectPair,
    PredictedObject,
    expand_groups,
    match_objects,
)

_SAMPLE_REPLICAS = 4  # replicas of each type that options are tried on, if there are many objects
_MAX_UNSAMPLED = 100


class ClusterDiff(NamedTuple):
    """A job and its real objects, matched, with some lowering options."""

    cr: TracedDocument
    references: References
    options: LoweringOptions
    real: list[KubernetesObject]
    matches: ObjectMatches
    differences: list[ObjectDifference]

    @property
    def kind(self) -> GroupVersionKind:
        kind = find_kind(self.cr.data["apiVersion"], self.cr.data["kind"])
        assert kind is not None
        return kind

    @property
    def kind_name(self) -> str:
        """Return the name of the kind in a configuration."""
        return name_of(self.kind)

    @property
    def kind_spec(self) -> KindSpec:
        return load_spec(self.kind)

    @property
    def total_cost(self) -> float:
        return sum(map(compute_cost, self.differences))

    def current_option(self, id_: str) -> Behavior:
        """Return an option with its current value."""
        return self.options._replace(kind=self.kind_name).resolve_behavior(list_lowering_options()[id_])

    def pairs_of_kind(self, kind: str) -> list[ObjectPair]:
        """Return the pairs of one kind of object."""
        return [pair for pair in self.matches.pairs if pair.predicted.kind == kind]


def compute_cluster_diff(
    cr: TracedDocument,
    options: LoweringOptions,
    real: list[KubernetesObject],
    references: References = MappingProxyType({}),
    *,
    is_sampled: bool = False,
) -> ClusterDiff:
    """Lower a CR that fits its schema, and compare; ``is_sampled`` takes only the first replicas of each
    type."""
    groups = lower_cr(cr, references, options)
    compared_kinds = frozenset(one["kind"] for one in real) | {"Pod", "Service", "ConfigMap", "PodGroup"}
    predicted = expand_groups(_limit_replicas(groups) if is_sampled else groups, compared_kinds)
    matches = match_objects(predicted, real)
    return ClusterDiff(cr, references, options, real, matches, find_differences(matches))


def sample_objects(comparison: ClusterDiff) -> tuple[list[KubernetesObject], bool]:
    """Return the real objects to try options on, and whether they are a sample: of many, the first
    replicas."""
    if len(comparison.real) <= _MAX_UNSAMPLED:
        return comparison.real, False
    sampled_objects = [
        pair.real for pair in comparison.matches.pairs if pair.predicted.replica_index < _SAMPLE_REPLICAS
    ]
    return [*sampled_objects, *comparison.matches.extra_objects[:_MAX_UNSAMPLED]], True


def override_options(comparison: ClusterDiff, values: Mapping[str, Any]) -> LoweringOptions:
    """Return the options of a comparison with other values for this kind."""
    current_values = comparison.options.behavior_values
    return comparison.options._replace(
        behavior_values={
            **current_values,
            comparison.kind_name: {**current_values.get(comparison.kind_name, {}), **values},
        }
    )


def build_placeholders(
    comparison: ClusterDiff, predicted: PredictedObject, real: KubernetesObject
) -> dict[str, str]:
    """Return the values of placeholders for one replica."""
    job, kind = compute_job_names(root_cursor(comparison.cr), comparison.options), comparison.kind.kind
    role = predicted.group.replica_type
    placeholders = {
        "base": job.base_name,
        "job": job.name,
        "kind": kind,
        "component": kind.lower(),
        "namespace": str(real["metadata"].get("namespace", "")),
        "type": role,
    }
    if predicted.group.doc.replica_texts.get(("metadata", "name")) is None:
        return placeholders
    name = str(real["metadata"]["name"])
    pod = {"pod": name} if predicted.kind == "Pod" else {}
    return placeholders | pod | {"name": name, "index": str(predicted.replica_index)}


def _limit_replicas(groups: list[ReplicaGroup]) -> list[ReplicaGroup]:
    """Return groups with only the first replicas of each type."""
    limited = (
        group._replace(replicas=min(group.replicas, _SAMPLE_REPLICAS - group.start)) for group in groups
    )
    return [group for group in limited if group.replicas > 0]
