"""The TensorBoard of a job with a ``tensorboardSpec``."""

from __future__ import annotations

from podplan.core.provenance import Behavior, attribute_to
from podplan.core.replica_groups import ReplicaGroup, build_group
from podplan.kinds.t9k.child_metadata import build_child_metadata
from podplan.kinds.t9k.job import JobContext


def build_tensorboards(job: JobContext, behavior: Behavior) -> list[ReplicaGroup]:
    """Return the TensorBoard of the job, as a list of one or none."""
    spec = job.spec.get("tensorboardSpec")
    if not spec.exists:
        return []
    tree = attribute_to(
        (spec, behavior),
        {
            "apiVersion": "tensorstack.dev/v1beta1",
            "kind": "TensorBoard",
            "metadata": build_child_metadata(job, job.base_name, kind="TensorBoard", labels=job.labels),
            "spec": spec,
        },
    )
    return [build_group(tree)]
