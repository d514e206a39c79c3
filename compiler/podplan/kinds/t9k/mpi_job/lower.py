"""Lowers MPIJob, all dialects: a launcher that runs mpirun, and workers that run sshd."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Cause, Cursor, Traced, attribute_to, copy_traced
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.core.typing import Any
from podplan.kinds.common.name_patterns import build_name_words, fill_pattern
from podplan.kinds.spec import References
from podplan.kinds.t9k import behaviors, ssh_setup
from podplan.kinds.t9k.child_metadata import TracedMap, record_replaced
from podplan.kinds.t9k.job import (
    JobContext,
    ReplicaType,
    build_job_context,
    is_paused,
    resolve_launch_overrides,
)
from podplan.kinds.t9k.launcher_job import build_sshd_workers, build_type_pods
from podplan.kinds.t9k.mpi_job import behaviors as kind_behaviors
from podplan.kinds.t9k.mpi_job.mpirun import build_launcher_command, get_hostfile_path
from podplan.kinds.t9k.mpi_job.settings import MPISettings, parse_settings
from podplan.kinds.t9k.pod_group import build_pod_groups, count_min_members
from podplan.kinds.t9k.pods import (
    apply_launch_overrides,
    build_replica_labels,
    build_replica_name,
    find_name_origins,
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
    scheduling_objects = build_pod_groups(job, *_count_needed_pods(job, settings))
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


def _count_needed_pods(job: JobContext, settings: MPISettings) -> tuple[int, tuple[Cause, ...]]:
    """Return how many Pods the job needs to start, and the origins of the number."""
    behavior = job.options.resolve_behavior(kind_behaviors.MPI_MIN_MEMBER)
    roles = [settings.workers] if behavior.value == "workers" else [settings.launcher, settings.workers]
    return count_min_members(roles, behavior=behavior)


def _build_launcher_pods(
    job: JobContext, settings: MPISettings, ssh_mounts: ssh_setup.SshMounts
) -> list[ReplicaGroup]:
    launcher_type = settings.launcher
    launch_overrides = resolve_launch_overrides(job, launcher_type.name)
    mounts = [
        *ssh_setup.build_keys_mounts(job, ssh_mounts),
        ssh_setup.build_file_mount(
            job, ssh_mounts, behaviors.SSH_HOSTFILE_KEY, kind_behaviors.MPI_HOSTFILE_PATH
        ),
    ]
    worker_container = find_training_container(job, settings.workers, settings.training_container)
    container_fields = _build_launcher_container(job, settings, worker_container, mounts)
    # A launcher that is not written lacks what the worker lacks.
    edit_cursor = (
        settings.launcher_cursor
        if settings.launcher_cursor.exists or "image" in container_fields
        else worker_container
    )
    choice_behavior = job.options.first_configured(
        kind_behaviors.MPI_LAUNCHER, kind_behaviors.MPI_LAUNCHER_CONTAINER
    )
    launcher = attribute_to(
        (edit_cursor, choice_behavior), apply_launch_overrides(container_fields, launch_overrides)
    )
    containers: list[Cursor | Traced] = [*launcher_type.template.get("spec", "containers").entries()]
    containers[settings.launcher_index : settings.launcher_index + 1] = [launcher]
    name_behavior = job.options.resolve_behavior(kind_behaviors.MPI_LAUNCHER)
    return build_type_pods(
        job,
        launcher_type,
        containers,
        launch_overrides,
        labels=_build_labels(job, launcher_type),
        volumes=ssh_setup.build_ssh_volumes(job, ssh_mounts, with_files=True),
        name=str(fill_pattern(name_behavior.value, build_name_words(job.name_words, launcher_type.name))),
        name_origins=find_name_origins(job, name_behavior),
        training_index=settings.launcher_index,
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
            *_list_entries(fields.get("env")),
            *_list_passed_variables(fields, worker_container),
            *build_patterned_variables(env, words, job.spec),
        ],
        "volumeMounts": [*_list_entries(fields.get("volumeMounts")), *mounts],
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
    own_names = {entry.get("name").value for entry in _list_entries(fields.get("env"))}
    return [
        copy_traced(variable, behavior=kind_behaviors.MPI_PASSED_ENV)
        for variable in worker_container.get("env").entries()
        if variable.get("name").value not in own_names
    ]


def _list_entries(list_value: Any) -> list[Cursor]:
    return list_value.entries() if isinstance(list_value, Cursor) else []
