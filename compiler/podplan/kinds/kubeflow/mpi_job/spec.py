"""The KindSpec of MPIJob of kubeflow.org/v1."""

from podplan.kinds.kubeflow.mpi_job.constants import KIND
from podplan.kinds.kubeflow.spec import PROFILE_FIELDS, STARTER_FIELDS, build_spec
from podplan.kinds.spec import CleanUp

SPEC = build_spec(
    KIND,
    "mpijobs",
    status={
        "failed_pods": {"ExitCode": "wait"},
        "first_retried_code": 0,
        "messages": {
            "restarting": "{kind} {job} is restarting because {count} {type} replica(s) failed.",
        },
        "failed_reason": "MPIJobFailed",
        "counts_others_after_main": False,
    },
    starter_fields={
        **STARTER_FIELDS,
        "run": '{exec: [mpirun, --allow-run-as-root, python, train.py, --epochs, "${{ params.epochs }}"]}',
    },
    schema="MPIJob-kubeflow-v1",
    profile_fields=PROFILE_FIELDS | {"processes"},
    clean_up=CleanUp(("runPolicy", "cleanPodPolicy"), "None", "Running", ("cleanPodPolicy",)),
)
