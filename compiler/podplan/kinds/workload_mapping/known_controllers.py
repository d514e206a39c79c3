"""Kinds whose WorkloadMapping ships with podplan, and what is known of their controllers beside it.

A mapping in the repository takes precedence over the bundled one; what is known of the controller holds for
both. Source: docs/workload-mapping.md#bundled-mappings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module

from podplan.core.findings import Diagnostic
from podplan.core.package_data import read_bundled_file
from podplan.core.provenance import Cursor, TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.spec import QueueIntegration

_MODULES = {
    ("ray.io", "RayJob"): "podplan.kinds.workload_mapping.ray_job",
    ("ray.io", "RayCluster"): "podplan.kinds.workload_mapping.ray_cluster",
    ("batch.volcano.sh", "Job"): "podplan.kinds.workload_mapping.volcano_job",
}


class KnownController(NamedTuple):
    """What is known of the controller of a declared kind.

    ``validate_cr`` returns what the API server or the controller refuses in a CR. ``queue_integration`` is
    how Kueue sees the jobs, None if it does not know the kind. ``lower_gang`` returns the PodGroup of a job.
    ``list_added_volumes`` returns the names of the volumes that the controller adds to the Pods of a CR.
    """

    validate_cr: Callable[[Mapping[str, Any]], list[Diagnostic]]
    traits: frozenset[str]
    queue_integration: QueueIntegration | None = None
    lower_gang: Callable[[Cursor], list[ReplicaGroup]] | None = None
    list_added_volumes: Callable[[Mapping[str, Any]], frozenset[str]] | None = None


@cache
def load_known_controller(group: str, kind: str) -> KnownController | None:
    """Return what is known of the controller of a kind; None for most declared kinds."""
    module = _MODULES.get((group, kind))
    if module is None:
        return None
    known: KnownController = import_module(module).CONTROLLER
    return known


@cache
def load_bundled_mapping(group: str, kind: str) -> TracedDocument | None:
    """Return the WorkloadMapping of podplan for a kind, without a source: no line of it is a user's."""
    if (group, kind) not in _MODULES:
        return None
    from podplan.yaml import parse_yaml

    text = read_bundled_file("schemas", "mappings", f"{group}.{kind}.yaml")
    [document] = parse_yaml(text.encode(), f"{group}.{kind}.yaml").documents
    return TracedDocument(f"podplan's mapping of {kind}", document.data)
