"""What the rest of podplan may ask about TrainJobs."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.typing import Any
from podplan.kinds.spec import KindSpec, QueueIntegration, Reference
from podplan.kinds.trainer.validation import validate_references, validate_train_job

_GROUP = "trainer.kubeflow.org"
CLUSTER_KIND = "ClusterTrainingRuntime"


def list_references(cr: Mapping[str, Any]) -> tuple[Reference, ...]:
    """The runtime of a TrainJob; without a kind it is one for the whole cluster."""
    metadata, written = cr.get("metadata") or {}, (cr.get("spec") or {}).get("runtimeRef") or {}
    kind = written.get("kind") or CLUSTER_KIND
    namespace = "" if kind == CLUSTER_KIND else str(metadata.get("namespace") or "")
    group = str(written.get("apiGroup") or _GROUP)
    return (
        Reference(
            group, str(kind), namespace, str(written.get("name") or ""), ("spec", "runtimeRef", "name")
        ),
    )


def load_queue_integration() -> QueueIntegration:
    """How Kueue sees TrainJobs."""
    from podplan.kinds.trainer.train_job import queueing

    return queueing.INTEGRATION


SPEC = KindSpec(
    plural="trainjobs",
    option_prefix="trainer",
    validate_cr=validate_train_job,
    validate_references=validate_references,
    unknown_field_rule="SCHEMA012",
    owner_label="jobset.sigs.k8s.io/jobset-name",
    list_references=list_references,
    load_queue_integration=load_queue_integration,
    traits=frozenset(("kueue",)),
)
