"""Lowers a CR of a declared kind to Pods: one per replica, from the templates as written."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Diagnostic
from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Behavior, Cause, Cursor, attribute_to
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup, build_group
from podplan.core.typing import Any
from podplan.kinds.common.merge import unwrap_tree
from podplan.kinds.common.name_patterns import INDEX_TEXT, fill_pattern
from podplan.kinds.spec import References
from podplan.kinds.t9k.job import GENERATED_SUFFIX
from podplan.kinds.workload_mapping.known_controllers import KnownController, load_known_controller
from podplan.kinds.workload_mapping.mapping import DeclaredReplicaType, find_replica_types
from podplan.kubernetes.accessors import get_mapping

DECLARED_BASIS = "declared"  # assumed: the WorkloadMapping states it, and no controller was observed
_PAGE = "docs/workload-mapping.md"
_MAX_REPLICAS = 2**31 - 1  # the maximum of an int32, the type of scale in every controller

PODS = Behavior(
    "declared.pods",
    "The controller creates one Pod per replica from the template that the WorkloadMapping names.",
    DECLARED_BASIS,
    f"{_PAGE}#what-is-lowered",
)
REPLICAS = Behavior(
    "declared.replicas",
    "Where no number of replicas is written there is one.",
    DECLARED_BASIS,
    f"{_PAGE}#what-is-lowered",
    value=1,
)
POD_NAME = Behavior(
    "declared.pod-name",
    "Pods are named after the job, the replica type and the index, unless the WorkloadMapping has podName.",
    DECLARED_BASIS,
    f"{_PAGE}#what-is-lowered",
    value="{job}-{type}-{index}",
)


def lower(cr: Cursor, references: References, _options: LoweringOptions) -> list[ReplicaGroup]:
    """Lower a CR to its Pods; ``references`` has its WorkloadMapping at the path ()."""
    mapping = references[()]
    replica_types, _ = find_replica_types(cr, references, mapping)
    groups = [group for one in replica_types for group in _build_pods(cr, mapping, one)]
    controller = _find_controller(mapping.value)
    if controller is not None and controller.lower_gang is not None:
        groups += controller.lower_gang(cr)
    return groups


def find_added_volumes(cr: Mapping[str, Any], mapping: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the volumes that the controller is known to add to the Pods."""
    controller = _find_controller(mapping)
    if controller is None or controller.list_added_volumes is None:
        return frozenset()
    return controller.list_added_volumes(cr)


def _find_controller(mapping: Mapping[str, Any]) -> KnownController | None:
    spec = get_mapping(mapping, "spec")
    return load_known_controller(str(spec.get("group")), str(spec.get("kind")))


def find_wrong_counts(replica_types: list[DeclaredReplicaType]) -> list[Diagnostic]:
    """Return a diagnostic for each replica count in a CR that is no valid number."""
    diagnostics = []
    for place in (place for one in replica_types for place in (one.replicas, one.pods_per_replica)):
        value, path = place.value, place.path
        if place.exists and (not isinstance(value, int) or isinstance(value, bool)):
            diagnostics.append(Diagnostic("SCHEMA002", "the number of replicas must be an integer", path))
        elif place.exists and not 0 <= value <= _MAX_REPLICAS:
            message = f"the number of replicas must be between 0 and {_MAX_REPLICAS}"
            diagnostics.append(Diagnostic("SCHEMA005", message, path))
    return diagnostics


def _build_pods(cr: Cursor, mapping: Cursor, replica_type: DeclaredReplicaType) -> list[ReplicaGroup]:
    count, count_cause = _count_replicas(replica_type)
    count *= int(replica_type.pods_per_replica.value_or(1))
    if count == 0:
        return []
    template = replica_type.template
    template_fields = unwrap_tree(replica_type.tree)
    metadata, spec = (unwrap_tree(template_fields.get(key, {})) for key in ("metadata", "spec"))
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **(metadata if isinstance(metadata, dict) else {}),
            "name": attribute_to(*_name_pods(cr, mapping, replica_type)),
            "namespace": cr.get("metadata", "namespace"),
        },
        "spec": spec,
    }
    group = build_group(attribute_to((template, PODS, count_cause), pod), replica_type.name, 0, count)
    index = _find_training_container(group.doc.data["spec"], replica_type.entry)
    return [group._replace(training_container_index=index)]


def _count_replicas(replica_type: DeclaredReplicaType) -> tuple[int, Cause]:
    """Return the number of replicas, and its origin."""
    for place in (replica_type.replicas, replica_type.entry.get("defaultReplicas")):
        if place.exists:
            return int(place.value), place
    return int(REPLICAS.value), REPLICAS


def _name_pods(
    cr: Cursor, mapping: Cursor, replica_type: DeclaredReplicaType
) -> tuple[tuple[Cause, ...], str | Indexed | None]:
    """Return the origins of the name of the Pods, and the name."""
    name, prefix = cr.get("metadata", "name"), cr.get("metadata", "generateName")
    job = str(name.value) if name.exists else f"{prefix.value_or('')}{GENERATED_SUFFIX}"
    pattern = mapping.get("spec", "podName")
    words: dict[str, Any] = {"job": job, "type": replica_type.name.lower(), "index": INDEX_TEXT}
    text = fill_pattern(pattern.value_or(POD_NAME.value), words)
    return (name if name.exists else prefix, POD_NAME, *((pattern,) if pattern.exists else ())), text


def _find_training_container(spec: Any, entry: Cursor) -> int:
    """Return the index of the training container: the one that the mapping names, else the first."""
    containers = spec.get("containers") if isinstance(spec, dict) else None
    wanted = entry.get("trainingContainer").value
    for index, container in enumerate(containers if isinstance(containers, list) else ()):
        if isinstance(container, dict) and container.get("name") == wanted:
            return index
    return 0
