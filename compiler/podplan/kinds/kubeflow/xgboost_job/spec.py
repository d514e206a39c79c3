"""The KindSpec of XGBoostJob."""

from podplan.kinds.kubeflow.spec import build_spec
from podplan.kinds.kubeflow.xgboost_job.constants import KIND

SPEC = build_spec(
    KIND,
    "xgboostjobs",
    status={
        "failed_pods": {"OnFailure": "delete", "Always": "delete", "ExitCode": "recreate"},
        "messages": {
            "restarting": "{kind} {job} is restarting because {count} {type} replica(s) failed.",
        },
    },
)
