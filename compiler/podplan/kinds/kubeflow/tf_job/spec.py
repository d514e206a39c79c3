"""What the rest of podplan may ask about TFJob."""

from podplan.kinds.kubeflow.spec import build_spec
from podplan.kinds.kubeflow.tf_job.kind import KIND

SPEC = build_spec(KIND, "tfjobs", single_replica_types=("Chief", "Master", "Evaluator"))
