"""Lowers ColossalAIJob, both dialects: a launcher that runs colossalai run, and workers that run sshd."""

from __future__ import annotations

from podplan.core.provenance import Cursor
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.spec import References
from podplan.kinds.t9k import ssh_setup
from podplan.kinds.t9k.colossalai_job import behaviors as kind_behaviors
from podplan.kinds.t9k.colossalai_job import launcher_dialect, replica_dialect
from podplan.kinds.t9k.colossalai_job.launcher import build_launcher_container
from podplan.kinds.t9k.colossalai_job.settings import ColossalAISettings
from podplan.kinds.t9k.job import JobContext, build_job_context, is_paused
from podplan.kinds.t9k.launcher_job import (
    build_launcher_mounts,
    build_launcher_pods,
    build_sshd_workers,
    count_needed_pods,
)
from podplan.kinds.t9k.pod_group import build_pod_groups
from podplan.kinds.t9k.pods import (
    build_replica_labels,
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
    needed_pods = count_needed_pods(
        job, settings.launcher, settings.workers, kind_behaviors.COLOSSALAI_MIN_MEMBER
    )
    scheduling_objects = build_pod_groups(job, *needed_pods)
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


def _build_launcher_pods(
    job: JobContext, settings: ColossalAISettings, ssh_mounts: ssh_setup.SshMounts
) -> list[ReplicaGroup]:
    worker_container = find_training_container(
        job, settings.workers, kind_behaviors.COLOSSALAI_TRAINING_CONTAINER
    )
    mounts = build_launcher_mounts(job, ssh_mounts, kind_behaviors.COLOSSALAI_HOSTFILE_PATH)
    fields = build_launcher_container(job, settings, worker_container, mounts)
    # A launcher that is not written lacks what the worker lacks.
    is_own = settings.launcher_cursor.exists or "image" in fields
    return build_launcher_pods(
        job,
        settings.launcher,
        fields,
        settings.launcher_index,
        settings.launcher_cursor if is_own else worker_container,
        ssh_mounts,
        build_replica_labels(job, settings.launcher, kind_behaviors.COLOSSALAI_LABELS),
        name_behavior=kind_behaviors.COLOSSALAI_LAUNCHER,
        container_behavior=kind_behaviors.COLOSSALAI_LAUNCHER_CONTAINER,
    )
