"""Lowers ColossalAIJob, both dialects: a launcher that runs colossalai run, and workers that run sshd."""

from __future__ import annotations

from podplan.core.provenance import Cause, Cursor, Traced, attribute_to
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.core.typing import Any
from podplan.kinds.common.name_patterns import build_name_words, fill_pattern
from podplan.kinds.spec import References
from podplan.kinds.t9k import behaviors, ssh_setup
from podplan.kinds.t9k.child_metadata import TracedMap
from podplan.kinds.t9k.colossalai_job import behaviors as kind_behaviors
from podplan.kinds.t9k.colossalai_job import launcher_dialect, replica_dialect
from podplan.kinds.t9k.colossalai_job.launcher import build_launcher_container as launcher_container
from podplan.kinds.t9k.colossalai_job.settings import ColossalAISettings
from podplan.kinds.t9k.job import (
    JobContext,
    LaunchOverrides,
    ReplicaType,
    build_job_context,
    find_configured_behavior,
    is_paused,
    resolve_launch_overrides,
)
from podplan.kinds.t9k.pod_group import build_pod_groups, count_min_members
from podplan.kinds.t9k.pods import (
    apply_launch_overrides,
    build_pod_spec,
    build_pods,
    build_replica_labels,
    find_name_origins,
    find_training_container,
    find_training_index,
    map_containers,
)
from podplan.kinds.t9k.services import build_discovery_services, build_subdomain_fields


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """Lower a ColossalAIJob (docs/evidence/t9k-colossalaijob.md) to PodGroup, Secret, ConfigMap, Services,
    Pods."""
    job = build_job_context(cr, options)
    dialect = replica_dialect if replica_dialect.uses_replica_dialect(job) else launcher_dialect
    settings = dialect.parse_settings(job)
    permanent_objects = [
        ssh_setup.build_secret(job),
        ssh_setup.build_config_map(
            job, ssh_setup.build_hostfile(job, settings.workers, kind_behaviors.COLOSSALAI_HOSTFILE_LINE)
        ),
        *build_discovery_services(job, [settings.workers], [ssh_setup.build_service_port(job)]),
    ]
    scheduling_objects = build_pod_groups(job, *_count_needed_pods(job, settings))
    if is_paused(job):
        return [*scheduling_objects, *permanent_objects]
    ssh_mounts = ssh_setup.resolve_ssh_mounts(job, job.spec.get("ssh", "authMountPath"))
    replica_groups = [
        *_build_launcher_pods(job, settings, ssh_mounts),
        *_build_worker_pods(job, settings.workers, ssh_mounts),
    ]
    return [*scheduling_objects, *permanent_objects, *replica_groups]


def _count_needed_pods(job: JobContext, settings: ColossalAISettings) -> tuple[int, tuple[Cause, ...]]:
    """Return how many Pods the job needs to start, and the origins of the number."""
    behavior = job.options.resolve_behavior(kind_behaviors.COLOSSALAI_MIN_MEMBER)
    roles = [settings.workers] if behavior.value == "workers" else [settings.launcher, settings.workers]
    return count_min_members(roles, behavior=behavior)


def _build_launcher_pods(
    job: JobContext, settings: ColossalAISettings, ssh_mounts: ssh_setup.SshMounts
) -> list[ReplicaGroup]:
    launcher_type = settings.launcher
    launch_overrides = resolve_launch_overrides(job, launcher_type.name)
    mounts = [
        *ssh_setup.build_keys_mounts(job, ssh_mounts),
        ssh_setup.build_file_mount(
            job, ssh_mounts, behaviors.SSH_HOSTFILE_KEY, kind_behaviors.COLOSSALAI_HOSTFILE_PATH
        ),
    ]
    worker_container = find_training_container(
        job, settings.workers, kind_behaviors.COLOSSALAI_TRAINING_CONTAINER
    )
    launcher_fields = launcher_container(job, settings, worker_container, mounts)
    # A launcher that is not written lacks what the worker lacks.
    edit_cursor = (
        settings.launcher_cursor
        if settings.launcher_cursor.exists or "image" in launcher_fields
        else worker_container
    )
    choice_behavior = job.options.first_configured(
        kind_behaviors.COLOSSALAI_LAUNCHER, kind_behaviors.COLOSSALAI_LAUNCHER_CONTAINER
    )
    launcher = attribute_to(
        (edit_cursor, choice_behavior), apply_launch_overrides(launcher_fields, launch_overrides)
    )
    containers: list[Cursor | Traced] = [*launcher_type.template.get("spec", "containers").entries()]
    containers[settings.launcher_index : settings.launcher_index + 1] = [launcher]
    name_behavior = job.options.resolve_behavior(kind_behaviors.COLOSSALAI_LAUNCHER)
    return _build_type_pods(
        job,
        launcher_type,
        containers,
        launch_overrides,
        volumes=ssh_setup.build_ssh_volumes(job, ssh_mounts, with_files=True),
        name=str(fill_pattern(name_behavior.value, build_name_words(job.name_words, launcher_type.name))),
        name_origins=find_name_origins(job, name_behavior),
        training_index=settings.launcher_index,
    )


def _build_worker_pods(
    job: JobContext, replica_type: ReplicaType, ssh_mounts: ssh_setup.SshMounts
) -> list[ReplicaGroup]:
    launch_overrides = resolve_launch_overrides(job, replica_type.name)
    sshd_path = ssh_setup.resolve_setting(job, behaviors.SSHD_PATH, job.spec.get("ssh", "sshdPath"))
    mounts = ssh_setup.build_keys_mounts(job, ssh_mounts)

    def build_training(container: Cursor) -> dict[str, object]:
        command = ssh_setup.build_sshd_command(job, container, sshd_path)
        return apply_launch_overrides(
            ssh_setup.replace_container_command(job, container, command, mounts), launch_overrides
        )

    choice_behavior = find_configured_behavior(job, kind_behaviors.COLOSSALAI_TRAINING_CONTAINER)
    training_index = find_training_index(job, replica_type, kind_behaviors.COLOSSALAI_TRAINING_CONTAINER)
    containers = map_containers(replica_type, training_index, build_training, choice_behavior=choice_behavior)
    volumes, subdomain_fields = (
        ssh_setup.build_ssh_volumes(job, ssh_mounts, with_files=False),
        build_subdomain_fields(job, replica_type),
    )
    return _build_type_pods(
        job,
        replica_type,
        containers,
        launch_overrides,
        volumes=volumes,
        extra_fields=subdomain_fields,
        training_index=training_index,
    )


def _build_type_pods(
    job: JobContext,
    replica_type: ReplicaType,
    containers: list[Any],
    launch_overrides: LaunchOverrides,
    *,
    volumes: list[Any],
    training_index: int,
    extra_fields: TracedMap | None = None,
    name: str | None = None,
    name_origins: tuple[Cause, ...] | None = None,
) -> list[ReplicaGroup]:
    """Build the Pods of the launcher or of the workers with ``containers``; see ``build_pod_spec`` and
    ``build_pods``."""
    restart_behavior = behaviors.RESTART_NEVER_ASSUMED
    spec = build_pod_spec(
        job,
        replica_type,
        containers,
        launch_overrides,
        restart_behavior=restart_behavior,
        volumes=volumes,
        extra_fields=extra_fields,
    )
    labels = build_replica_labels(job, replica_type, kind_behaviors.COLOSSALAI_LABELS)
    return build_pods(
        job,
        replica_type,
        spec,
        labels=labels,
        name=name,
        name_origins=name_origins,
        training_index=training_index,
    )
