"""RayClusters: what KubeRay refuses, and how Kueue queues them. Source: docs/evidence/kueue.md#ray."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Diagnostic, Path
from podplan.core.provenance import Cursor
from podplan.core.replica_groups import LoweringOptions
from podplan.core.typing import Any
from podplan.kinds.spec import PodSet, QueueIntegration, References
from podplan.kinds.workload_mapping.known_controllers import KnownController
from podplan.kinds.workload_mapping.ray import (
    TRAITS,
    iter_cluster_refusals,
    iter_name_problems,
    list_cluster_pod_sets,
    list_cluster_volumes,
)
from podplan.kubernetes.accessors import get_mapping

_MAX_NAME = 53  # its Services have the suffix -serve-svc


def validate_cr(cr: Mapping[str, Any]) -> list[Diagnostic]:
    """Return what KubeRay refuses in a RayCluster."""
    return list(iter_name_problems(cr, _MAX_NAME))


def list_pod_sets(job: Cursor, _references: References, _options: LoweringOptions) -> list[PodSet]:
    """The pod sets of a RayCluster."""
    return list_cluster_pod_sets(job, job.get("spec"))


def validate_for_kueue(job: Cursor) -> Iterator[tuple[Path, str]]:
    """Yield what the webhook of Kueue refuses in a RayCluster."""
    yield from iter_cluster_refusals(job, job.get("spec"))


CONTROLLER = KnownController(
    validate_cr,
    TRAITS,
    QueueIntegration(list_pod_sets, validate=validate_for_kueue),
    list_added_volumes=lambda cr: list_cluster_volumes(get_mapping(cr, "spec")),
)
