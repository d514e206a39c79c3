"""What the rest of podplan may ask about XGBoostJob."""

from podplan.kinds.kubeflow.spec import build_spec
from podplan.kinds.kubeflow.xgboost_job.form import FORM

SPEC = build_spec(FORM, "xgboostjobs")
