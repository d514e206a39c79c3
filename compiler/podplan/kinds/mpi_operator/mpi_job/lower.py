"""From an MPIJob of kubeflow.org/v2beta1 to the objects that the MPI Operator creates."""

from __future__ import annotations

from podplan.core.provenance import Cursor
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.kubeflow.job import build_job
from podplan.kinds.mpi_operator.job_objects import build_config_map, build_secret, build_service
from podplan.kinds.mpi_operator.launcher import build_launcher
from podplan.kinds.mpi_operator.mpi_job.constants import KIND
from podplan.kinds.mpi_operator.names import has_other_manager, is_suspended
from podplan.kinds.mpi_operator.pod_group import build_pod_group
from podplan.kinds.mpi_operator.workers import build_workers
from podplan.kinds.spec import References


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """The objects of an MPIJob (docs/evidence/mpi-operator.md) when the operator takes it up."""
    job = build_job(cr, KIND, options)
    launcher = job.find_type("Launcher")
    if has_other_manager(job.spec) or launcher is None:
        return []
    groups = [build_service(job), build_config_map(job), build_secret(job)]
    if not is_suspended(job):
        groups += [*build_pod_group(job), *build_workers(job)]
    return [*groups, *build_launcher(job, launcher)]
