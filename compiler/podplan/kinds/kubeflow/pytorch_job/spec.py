"""What the rest of podplan may ask about PyTorchJob."""

from podplan.kinds.kubeflow.pytorch_job.form import FORM
from podplan.kinds.kubeflow.spec import PROFILE_FIELDS, build_spec

SPEC = build_spec(
    FORM,
    "pytorchjobs",
    elastic_path=("spec", "elasticPolicy"),
    profile_fields=PROFILE_FIELDS | {"launcher", "processes", "elastic", "torchrun"},
)
