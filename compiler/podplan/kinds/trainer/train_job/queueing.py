"""TrainJobs as Kueue queues them: the JobSet of the runtime. Source: docs/evidence/kueue.md#pod-sets."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.provenance import Cursor, Path, root_cursor
from podplan.core.replica_groups import LoweringOptions
from podplan.kinds.jobset import queueing
from podplan.kinds.spec import PodSet, QueueIntegration, References
from podplan.kinds.trainer.job import build_train_job
from podplan.kinds.trainer.lower import build_job_set, fill_template


def list_pod_sets(cr: Cursor, references: References, options: LoweringOptions) -> list[PodSet]:
    """The pod sets of the JobSet, with those of initializers that the TrainJob does not use."""
    train_job = build_train_job(cr, references[("spec", "runtimeRef", "name")], options)
    jobs, _ = fill_template(train_job)
    return queueing.list_pod_sets(root_cursor(build_job_set(train_job, jobs).doc), {}, options)


def validate(cr: Cursor) -> Iterator[tuple[Path, str]]:
    """Yield the message about a kind of runtime that Trainer does not have."""
    written = cr.get("spec", "runtimeRef", "kind")
    group = cr.get("spec", "runtimeRef", "apiGroup").value_or(RUNTIME_GROUP)
    if group != RUNTIME_GROUP or written.value_or(RUNTIME_KINDS[0]) not in RUNTIME_KINDS:
        yield written.path, f"unsupported runtime: {written.value}.{group}"


RUNTIME_GROUP = "trainer.kubeflow.org"
RUNTIME_KINDS = ("ClusterTrainingRuntime", "TrainingRuntime")
INTEGRATION = QueueIntegration(list_pod_sets, validate=validate)
