"""Lowers ToyJob: a Pod for each replica, from the template of its type."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Behavior, Cursor, attribute_to
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup, build_group
from podplan.kinds.spec import References

POD = Behavior(
    "toy.pod", "a Pod per replica, called JOB-TYPE-INDEX", "documented", "https://example.com/toys#pods"
)


def lower(cr: Cursor, _references: References, _options: LoweringOptions) -> list[ReplicaGroup]:
    """Lower a ToyJob to Pods."""
    types = cr.get("spec", "toyReplicaSpecs").fields()
    return [_build_pods(cr, name, entry) for name, entry in types.items()]


def _build_pods(cr: Cursor, type_name: str, entry: Cursor) -> ReplicaGroup:
    template, metadata = entry["template"], cr.get("metadata")
    name = Indexed((f"{metadata['name'].value}-{type_name.lower()}-", 0))
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": attribute_to((metadata["name"], POD), name),
            "namespace": metadata.get("namespace"),
            "labels": template.get("metadata", "labels"),
        },
        "spec": {
            **template.get("spec").fields(),
            "containers": template.get("spec", "containers"),
            "restartPolicy": attribute_to(POD, "Never"),
        },
    }
    return build_group(
        attribute_to((POD, entry), pod), type_name, replicas=entry.get("replicas").value_or(1)
    )._replace(training_container_index=0)
