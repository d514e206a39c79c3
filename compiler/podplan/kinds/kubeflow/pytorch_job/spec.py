"""The KindSpec of PyTorchJob."""

from podplan.kinds.kubeflow.pytorch_job.constants import KIND
from podplan.kinds.kubeflow.spec import PROFILE_FIELDS, build_spec

SPEC = build_spec(
    KIND,
    "pytorchjobs",
    status={"any_worker_field": "elasticPolicy"},
    elastic_path=("spec", "elasticPolicy"),
    profile_fields=PROFILE_FIELDS | {"launcher", "processes", "elastic", "torchrun"},
)
