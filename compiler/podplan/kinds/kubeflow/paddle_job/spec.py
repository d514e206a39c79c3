"""What the rest of podplan may ask about PaddleJob."""

from podplan.kinds.kubeflow.paddle_job.form import FORM
from podplan.kinds.kubeflow.spec import build_spec

SPEC = build_spec(FORM, "paddlejobs", elastic_path=("spec", "elasticPolicy"))
