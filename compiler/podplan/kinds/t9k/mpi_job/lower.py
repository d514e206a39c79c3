"""Lowers MPIJob, all dialects: a launcher that runs mpirun, and workers that run sshd."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Cursor, Traced, attribute_to, copy_traced
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.common.name_patterns import build_name_words, fill_pattern
from podplan.kinds.spec import References
from podplan.kinds.t9k import behaviors, ssh_setup
from podplan.kinds.t9k.child_metadata import TracedMap, record_replaced
from podplan.kinds.t9k.job import (
    JobContext,
    ReplicaType,
    build_job_context,
    is_paused,
)
from podplan.kinds.t9k.launcher_job import (
    build_launcher_mounts,
    build_launcher_pods,
    build_sshd_workers,
    count_needed_pods,
    list_entries,
)
from podplan.kinds.t9k.mpi_job import behaviors as kind_behaviors
from podplan.kinds.t9k.mpi_job.mpirun import build_launcher_command, get_hostfile_path
from podplan.kinds.t9k.mpi_job.settings import MPISettings, parse_settings
from podplan.kinds.t9k.pod_group import build_pod_groups
from podplan.kinds.t9k.pods import (
    build_replica_labels,
    build_replica_name,
    find_training_container,
)
from podplan.kinds.t9k.services import build_worker_service, get_service_name
from podplan.kinds.t9k.traced_patterns import TracedWords, build_patterned_variables


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """Lower an MPIJob (docs/evidence/t9k-mpijob.md) to PodGroup, Secret, ConfigMap, Service, Pods."""
    job = build_job_context(cr, options)
    settings = parse_settings(job)
    workers = settings.workers
    hostfile = ssh_setup.build_hostfile(
        job,
        workers,
        kind_behaviors.MPI_HOSTFILE_LINE,
        host=_build_host_name(job, workers),
        naming_behaviors=(kind_behaviors.MPI_HOST, kind_behaviors.MPI_SERVICE, behaviors.POD_NAME),
    )
    permanent_objects = [
        ssh_setup.build_secret(job),
        ssh_setup.build_config_map(job, hostfile),
        build_worker_service(job, workers, kind_behaviors.MPI_SERVICE, kind_behaviors.MPI_SERVICE_SELECTOR),
    ]
    needed_pods = count_needed_pods(job, settings.launcher, settings.workers, kind_behaviors.MPI_MIN_MEMBER)
    scheduling_objects = build_pod_groups(job, *needed_pods)
    if is_paused(job):
        return [*scheduling_objects, *permanent_objects]
    ssh_mounts = ssh_setup.resolve_ssh_mounts(job, job.spec.get("ssh", "sshAuthMountPath"))
    return [
        *scheduling_objects,
        *permanent_objects,
        *_build_launcher_pods(job, settings, ssh_mounts),
        *build_sshd_workers(
            job,
            workers,
            ssh_mounts,
            settings.training_container,
            _build_labels(job, workers),
            kind_behaviors.MPI_DEBUG,
            _build_name_fields(job, workers),
        ),
    ]


def _build_host_name(job: JobContext, workers: ReplicaType) -> Indexed:
    word_values = build_name_words(job.name_words) | {
        "pod": build_replica_name(job, workers),
        "service": get_service_name(job, kind_behaviors.MPI_SERVICE),
    }
    name = fill_pattern(job.options.resolve_behavior(kind_behaviors.MPI_HOST).value, word_values)
    return name if isinstance(name, Indexed) else Indexed((name or "",))


def _build_name_fields(job: JobContext, workers: ReplicaType) -> TracedMap:
    """Return the fields that give a worker its name below the Service."""
    behavior = job.options.resolve_behavior(kind_behaviors.MPI_SERVICE)
    origins = (behavior, *job.name_origins)
    return {
        "hostname": attribute_to(origins, build_replica_name(job, workers)),
        "subdomain": attribute_to(origins, get_service_name(job, behavior)),
    }


def _build_labels(job: JobContext, replica_type: ReplicaType) -> TracedMap:
    name = attribute_to((kind_behaviors.MPI_LABELS, *job.name_origins), job.name)
    labels = build_replica_labels(job, replica_type, kind_behaviors.MPI_REPLICA_LABELS)
    return {"app": name, "mpi-job": name, **labels}


def _build_launcher_pods(
    job: JobContext, settings: MPISettings, ssh_mounts: ssh_setup.SshMounts
) -> list[ReplicaGroup]:
    worker_container = find_training_container(job, settings.workers, settings.training_container)
    mounts = build_launcher_mounts(job, ssh_mounts, kind_behaviors.MPI_HOSTFILE_PATH)
    fields = _build_launcher_container(job, settings, worker_container, mounts)
    # A launcher that is not written lacks what the worker lacks.
    is_own = settings.launcher_cursor.exists or "image" in fields
    return build_launcher_pods(
        job,
        settings.launcher,
        fields,
        settings.launcher_index,
        settings.launcher_cursor if is_own else worker_container,
        ssh_mounts,
        _build_labels(job, settings.launcher),
        name_behavior=kind_behaviors.MPI_LAUNCHER,
        container_behavior=kind_behaviors.MPI_LAUNCHER_CONTAINER,
    )


def _build_launcher_container(
    job: JobContext, settings: MPISettings, worker_container: Cursor, mounts: list[Traced]
) -> TracedMap:
    """Build the fields of the launcher's container; ``worker_container`` is that of the workers."""
    fields, edit_cursor = settings.launcher_fields, settings.launcher_cursor
    name, resources, env = (
        job.options.resolve_behavior(fact)
        for fact in (
            kind_behaviors.MPI_LAUNCHER_CONTAINER,
            kind_behaviors.MPI_LAUNCHER_RESOURCES,
            kind_behaviors.MPI_LAUNCHER_ENV,
        )
    )
    words: TracedWords = {
        "hostfile": attribute_to((kind_behaviors.MPI_HOSTFILE_PATH, job.spec), get_hostfile_path(job)),
        "base": attribute_to(job.base_name_origins, job.base_name),
        "job": attribute_to(job.name_origins, job.name),
    }
    tree: TracedMap = {
        "name": attribute_to((name, edit_cursor), name.value),
        **fields,
        "command": record_replaced(
            build_launcher_command(job, settings), fields.get("command"), fields.get("args")
        ),
        "env": [
            *list_entries(fields.get("env")),
            *_list_passed_variables(fields, worker_container),
            *build_patterned_variables(env, words, job.spec),
        ],
        "volumeMounts": [*list_entries(fields.get("volumeMounts")), *mounts],
    }
    tree.pop("args", None)
    image = worker_container.get("image")
    if "image" not in fields and image.exists:
        tree["image"] = attribute_to((image, kind_behaviors.MPI_LAUNCHER_IMAGE), image.value)
    if "resources" not in fields:
        tree["resources"] = attribute_to((resources, edit_cursor), resources.value)
    return tree


def _list_passed_variables(fields: TracedMap, worker_container: Cursor) -> list[Traced]:
    """Return the variables of the workers that the launcher does not have itself, to pass them on."""
    own_names = {entry.get("name").value for entry in list_entries(fields.get("env"))}
    return [
        copy_traced(variable, behavior=kind_behaviors.MPI_PASSED_ENV)
        for variable in worker_container.get("env").entries()
        if variable.get("name").value not in own_names
    ]
