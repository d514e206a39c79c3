"""Lowering of a CR to the objects that the operator creates, for the kinds with a Service for each Pod."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from podplan.core.provenance import Cursor
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.kubeflow.job import Job, JobReplicaType, build_job, fails_at_once, is_ignored
from podplan.kinds.kubeflow.pod_group import build_pod_groups
from podplan.kinds.kubeflow.pods import PodParts, PodRange, build_pods
from podplan.kinds.kubeflow.services import build_services
from podplan.kinds.kubeflow.training_kind import TrainingKind

BuildParts = Callable[[Job, JobReplicaType, PodRange], PodParts]


def lower_job(
    cr: Cursor,
    kind: TrainingKind,
    options: LoweringOptions,
    build_parts: BuildParts,
    build_others: Callable[[Job], list[ReplicaGroup]] | None = None,
) -> list[ReplicaGroup]:
    """Build the PodGroup, the Services and the Pods of a job, and the objects of ``build_others``.

    The operator creates the latter first, so also for a job that fails immediately.
    """
    job = build_job(cr, kind, options)
    if is_ignored(job):
        return []
    others = build_others(job) if build_others else []
    if fails_at_once(job):
        return others
    groups = [*build_pod_groups(job), *others]
    for replica_type in job.types:
        groups += build_services(job, replica_type)
    for replica_type in job.types:
        groups += build_pods(job, replica_type, partial(build_parts, job, replica_type))
    return groups
