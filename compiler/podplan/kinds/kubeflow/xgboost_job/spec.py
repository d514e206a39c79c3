"""What the rest of podplan may ask about XGBoostJob."""

from podplan.kinds.kubeflow.spec import build_spec
from podplan.kinds.kubeflow.xgboost_job.kind import KIND

SPEC = build_spec(KIND, "xgboostjobs")
