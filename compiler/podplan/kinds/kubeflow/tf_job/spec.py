"""What the rest of podplan may ask about TFJob."""

from podplan.kinds.kubeflow.spec import build_spec
from podplan.kinds.kubeflow.tf_job.form import FORM

SPEC = build_spec(FORM, "tfjobs")
