"""Lowers ColossalAIJob, both dialects: a launcher that runs colossalai run, and workers that run sshd."""

from __future__ import annotations

from podplan.core.provenance import Cause, Cursor, Traced, attribute_to
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.common.name_patterns import build_name_words, fill_pattern
from podplan.kinds.spec import References
from podplan.kinds.t9k import behaviors, ssh_setup
from podplan.kinds.t9k.colossalai_job import behaviors as kind_behaviors
from podplan.kinds.t9k.colossalai_job import launcher_dialect, replica_dialect
from podplan.kinds.t9k.colossalai_job.launcher import build_launcher_container as launcher_container
from podplan.kinds.t9k.colossalai_job.settings import ColossalAISettings
from podplan.kinds.t9k.job import JobContext, build_job_context, is_paused, resolve_launch_overrides
from podplan.kinds.t9k.launcher_job import build_sshd_workers, build_type_pods
from podplan.kinds.t9k.pod_group import build_pod_groups, count_min_members
from podplan.kinds.t9k.pods import (
    apply_launch_overrides,
    build_replica_labels,
    find_name_origins,
    find_training_container,
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
        *build_sshd_workers(
            job,
            settings.workers,
            ssh_mounts,
            kind_behaviors.COLOSSALAI_TRAINING_CONTAINER,
            build_replica_labels(job, settings.workers, kind_behaviors.COLOSSALAI_LABELS),
            extra_fields=build_subdomain_fields(job, settings.workers),
        ),
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
    return build_type_pods(
        job,
        launcher_type,
        containers,
        launch_overrides,
        labels=build_replica_labels(job, launcher_type, kind_behaviors.COLOSSALAI_LABELS),
        volumes=ssh_setup.build_ssh_volumes(job, ssh_mounts, with_files=True),
        name=str(fill_pattern(name_behavior.value, build_name_words(job.name_words, launcher_type.name))),
        name_origins=find_name_origins(job, name_behavior),
        training_index=settings.launcher_index,
    )
