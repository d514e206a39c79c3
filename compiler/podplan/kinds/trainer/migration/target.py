"""What ``podplan migrate --to TrainJob`` converts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podplan.core.provenance import Cursor
from podplan.core.replica_groups import ReplicaGroup
from podplan.kinds.conversion import ConversionTarget, Converter
from podplan.kinds.kubeflow.pytorch_job.constants import KIND
from podplan.kinds.spec import References
from podplan.kinds.trainer.job_set_template import NODE
from podplan.kinds.trainer.migration import pytorch_job
from podplan.kinds.trainer.migration.lifecycles import describe_pytorch_job, describe_train_job
from podplan.kinds.trainer.migration.older_versions import (
    convert_runtime,
    convert_train_job,
    select_job_version,
    select_new_version,
    select_runtime_version,
)
from podplan.kinds.trainer.migration.runtimes import RUNTIME_KINDS


def _describe_no_life(_: Cursor, __: References, ___: Sequence[ReplicaGroup]) -> Mapping[str, str]:
    return {}


def _trains(group: ReplicaGroup) -> bool:
    """Whether Pods train: all of a PyTorchJob, and those of a TrainJob with the container node."""
    containers = group.doc.data["spec"]["containers"]
    return containers[group.training_container_index or 0]["name"] in (NODE, KIND.container)


_RUNTIME = Converter(convert_runtime, _describe_no_life, select_runtime_version, keeps_kind=True)
TARGET = ConversionTarget(
    {
        "kubeflow.org/v1/PyTorchJob": Converter(pytorch_job.convert, describe_pytorch_job),
        "trainer.kubeflow.org/v1alpha1/TrainJob": Converter(
            convert_train_job, describe_train_job, select_job_version, keeps_kind=True
        ),
        **{f"trainer.kubeflow.org/v1alpha1/{kind}": _RUNTIME for kind in RUNTIME_KINDS},
    },
    describe_train_job,
    _trains,
    select_new_version,
    RUNTIME_KINDS,
)
