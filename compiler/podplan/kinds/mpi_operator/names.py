"""Names that several objects of an MPIJob have in common, and whether the operator takes the job up."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Cursor
from podplan.core.typing import Any
from podplan.kinds.kubeflow.job import Job
from podplan.kinds.mpi_operator import behaviors

OWN_MANAGER = "kubeflow.org/mpi-operator"
DEFAULT_SSH_PATH = "/root/.ssh"
CONFIG_PATH = "/etc/mpi"
CONFIG_VOLUME, SSH_VOLUME = "mpi-job-config", "ssh-auth"
OPEN_MPI, INTEL, MPICH = "OpenMPI", "Intel", "MPICH"


def has_other_manager(spec: Cursor) -> bool:
    """Whether the operator leaves a job alone because managedBy names another controller."""
    manager = spec.get("runPolicy", "managedBy")
    return manager.exists and manager.value != OWN_MANAGER


def is_suspended(job: Job) -> bool:
    """Whether a job has no Pods for now."""
    return job.spec.get("runPolicy", "suspend").value is True and not job.options.resumed


def is_launcher_a_worker(job: Job) -> bool:
    """Whether mpirun starts processes in the launcher, too."""
    return job.spec.get("runLauncherAsWorker").value is True


def find_mpi_implementation(spec: Mapping[str, Any]) -> str:
    """The MPI library that a spec states, or the default."""
    return str(spec.get("mpiImplementation") or OPEN_MPI)


def count_workers(job: Job) -> int:
    """The number of workers, 0 without the replica type."""
    workers = job.find_type("Worker")
    return workers.pod_count if workers is not None else 0


def build_launcher_name(job: Job) -> str:
    """The name of the Job of the launcher, and the host name of its Pod."""
    return f"{job.name}-launcher"


def build_worker_name(job: Job) -> Indexed:
    """The name of the Pods of the workers, and their host name."""
    return Indexed((f"{job.name}-worker-", 0))


def build_host_suffix(job: Job) -> str:
    """What follows a host name in the hostfile."""
    domain = job.options.resolve_behavior(behaviors.CLUSTER_DOMAIN).value
    return f".{job.name}.{job.namespace}.svc{f'.{domain}' if domain else ''}"
