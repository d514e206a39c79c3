"""What the rest of podplan may ask about MPIJob of kubeflow.org/v1."""

from podplan.kinds.kubeflow.mpi_job.kind import KIND
from podplan.kinds.kubeflow.spec import PROFILE_FIELDS, build_spec

SPEC = build_spec(KIND, "mpijobs", schema="MPIJob-kubeflow-v1", profile_fields=PROFILE_FIELDS | {"processes"})
