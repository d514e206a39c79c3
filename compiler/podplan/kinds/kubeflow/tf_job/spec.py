"""The KindSpec of TFJob."""

from podplan.kinds.kubeflow.spec import build_spec
from podplan.kinds.kubeflow.tf_job.constants import KIND

SPEC = build_spec(
    KIND,
    "tfjobs",
    status={
        "messages": {
            "running": "{kind} {namespace}/{job} is running.",
            "succeeded": "{kind} {namespace}/{job} successfully completed.",
            "failed": "{kind} {namespace}/{job} has failed because {count} {type} replica(s) failed.",
        },
        "first_worker_decides": True,
        "keeps_time_of_final_code": True,
        "all_workers_field": "successPolicy",
        "tolerant_field": "enableDynamicWorker",
    },
    single_replica_types=("Chief", "Master", "Evaluator"),
)
