"""The launcher of an MPIJob: a Job whose Pod runs mpirun."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.provenance import Traced, attribute_to, root_cursor
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kinds.batch.pods import build_pods, creates_pods, split_pods
from podplan.kinds.common.controller_variables import build_variable
from podplan.kinds.kubeflow.job import Job, JobReplicaType, build_owners
from podplan.kinds.mpi_operator import behaviors
from podplan.kinds.mpi_operator.job_objects import build_child
from podplan.kinds.mpi_operator.names import (
    CONFIG_PATH,
    CONFIG_VOLUME,
    INTEL,
    MPICH,
    build_launcher_name,
    find_mpi_implementation,
    is_launcher_a_worker,
    is_suspended,
)
from podplan.kinds.mpi_operator.pods import (
    TracedMap,
    build_first_container,
    build_pod_metadata,
    build_pod_spec,
)

_JOB_FIELDS = ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")
_FILE_MODES = {"hostfile": 0o444, "discover_hosts.sh": 0o555}
_HOSTFILE = f"{CONFIG_PATH}/hostfile"
_SSH_OPTIONS = "-o ConnectionAttempts=10"
_SLOTS = "{slots}"
# The operator writes an owner into the template, too, which the Job controller ignores. The API server
# requires a uid of an owner, so the one that it will choose for the job has a placeholder.
_UNKNOWN_UID = "00000000-0000-0000-0000-000000000000"
# The variables by which the launchers of the MPI libraries find their hosts.
_OPEN_MPI_VARIABLES = {
    "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
    "OMPI_MCA_orte_default_hostfile": _HOSTFILE,
    "OMPI_MCA_plm_rsh_args": _SSH_OPTIONS,
    "OMPI_MCA_orte_set_default_slots": _SLOTS,
}
_OTHER_VARIABLES = {
    INTEL: {
        "I_MPI_HYDRA_HOST_FILE": _HOSTFILE,
        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": _SSH_OPTIONS,
        "I_MPI_PERHOST": _SLOTS,
    },
    MPICH: {"HYDRA_HOST_FILE": _HOSTFILE, "HYDRA_LAUNCH_EXTRA_ARGS": _SSH_OPTIONS},
}


def build_launcher(job: Job, launcher: JobReplicaType) -> Iterator[ReplicaGroup]:
    """The Job of the launcher, and the Pod that the Job controller creates for it."""
    policy = job.spec.get("runPolicy")
    spec: TracedMap = {
        field: attribute_to((policy.get(field), behaviors.LAUNCHER), policy.get(field).value)
        for field in _JOB_FIELDS
        if policy.get(field).exists
    }
    spec["podReplacementPolicy"] = attribute_to((behaviors.LAUNCHER, launcher.entry), "Failed")
    if is_suspended(job):
        spec["suspend"] = attribute_to((policy.get("suspend"), behaviors.SUSPEND), True)
    spec["template"] = attribute_to(launcher.template, _build_template(job, launcher))
    group = build_child(job, "batch/v1", "Job", build_launcher_name(job), behaviors.LAUNCHER, {"spec": spec})
    yield group
    cursor = root_cursor(group.doc)
    if creates_pods(cursor, job.options.resumed):
        for pod_range in split_pods(cursor):
            yield build_pods(group, pod_range, replica_type=launcher.key, with_priority=False)


def _build_template(job: Job, launcher: JobReplicaType) -> TracedMap:
    as_worker = is_launcher_a_worker(job)
    metadata = build_pod_metadata(job, launcher, "launcher", "0" if as_worker else None)
    metadata["ownerReferences"] = build_owners(job, behaviors.OWNER, _UNKNOWN_UID)
    mount = attribute_to(
        (behaviors.HOSTFILE, launcher.entry), {"name": CONFIG_VOLUME, "mountPath": CONFIG_PATH}
    )
    items = [{"key": name, "path": name, "mode": mode} for name, mode in _FILE_MODES.items()]
    volume = {"name": CONFIG_VOLUME, "configMap": {"name": f"{job.name}-config", "items": items}}
    return {
        "metadata": metadata,
        "spec": build_pod_spec(
            job,
            launcher,
            build_launcher_name(job),
            "OnFailure",
            build_first_container(job, launcher, list(_build_environment(job, launcher)), (mount,)),
            (attribute_to((behaviors.HOSTFILE, launcher.entry), volume),),
        ),
    }


def _build_environment(job: Job, launcher: JobReplicaType) -> Iterator[Traced]:
    why: tuple[Any, ...] = (launcher.entry, behaviors.ENVIRONMENT)
    yield build_variable("K_MPI_JOB_ROLE", "launcher", *why)
    implementation = job.spec.get("mpiImplementation")
    variables = _OTHER_VARIABLES.get(find_mpi_implementation(job.spec.value), _OPEN_MPI_VARIABLES)
    slots = job.spec.get("slotsPerWorker")
    for name, value in variables.items():
        if value == _SLOTS:
            yield build_variable(name, str(slots.value_or(1)), slots, *why)
        else:
            yield build_variable(name, value, implementation, *why)
    if not is_launcher_a_worker(job):
        for name in ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"):
            yield attribute_to((launcher.entry, behaviors.GPU_VARIABLES), {"name": name})
