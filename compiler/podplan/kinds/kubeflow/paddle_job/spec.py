"""The KindSpec of PaddleJob."""

from podplan.kinds.kubeflow.paddle_job.constants import KIND
from podplan.kinds.kubeflow.spec import PROFILE_FIELDS, build_spec

SPEC = build_spec(
    KIND,
    "paddlejobs",
    elastic_path=("spec", "elasticPolicy"),
    profile_fields=PROFILE_FIELDS | {"elastic"},
)
