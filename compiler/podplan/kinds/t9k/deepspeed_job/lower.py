"""Lowers DeepSpeedJob: sshd on every worker, and deepspeed on worker-0, which reaches the others by pdsh."""

from __future__ import annotations

from podplan.core.provenance import Cursor
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.spec import References
from podplan.kinds.t9k import behaviors, ssh_setup
from podplan.kinds.t9k.child_metadata import TracedMap
from podplan.kinds.t9k.deepspeed_job import behaviors as kind_behaviors
from podplan.kinds.t9k.deepspeed_job import env_file
from podplan.kinds.t9k.deepspeed_job.launcher import build_launcher_command
from podplan.kinds.t9k.elastic import resolve_elastic_bounds
from podplan.kinds.t9k.job import (
    JobContext,
    ReplicaType,
    build_job_context,
    find_configured_behavior,
    is_paused,
    parse_replica_type,
    resolve_launch_overrides,
)
from podplan.kinds.t9k.pod_group import build_pod_groups, count_min_members
from podplan.kinds.t9k.pods import (
    apply_launch_overrides,
    build_pod_spec,
    build_pods_with_master,
    find_training_container,
    find_training_index,
    map_containers,
)
from podplan.kinds.t9k.services import build_discovery_services, build_subdomain_fields


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """Lower a DeepSpeedJob (docs/evidence/t9k-deepspeedjob.md) to PodGroup, Secret, ConfigMap, Services,
    Pods."""
    job = build_job_context(cr, options)
    workers = _resolve_workers(job)
    slots = job.spec.get("config", "slotsPerWorker")
    default_slots = job.options.resolve_behavior(kind_behaviors.DEEPSPEED_SLOTS)
    slot_count, slots_origins = (
        (slots.value, (slots,)) if slots.exists else (default_slots.value, (slots, default_slots))
    )
    files = ssh_setup.build_hostfile(
        job, workers, kind_behaviors.DEEPSPEED_HOSTFILE_LINE, slot_count, *slots_origins
    )
    training_container = find_training_container(job, workers, kind_behaviors.DEEPSPEED_TRAINING_CONTAINER)
    files |= env_file.build_env_file(job, training_container)
    permanent_objects = [
        ssh_setup.build_secret(job),
        ssh_setup.build_config_map(job, files),
        *build_discovery_services(job, [workers], [ssh_setup.build_service_port(job)]),
    ]
    bounds = resolve_elastic_bounds(job, [workers]) if _is_elastic(job) else None
    scheduling_objects = build_pod_groups(job, *count_min_members([workers], elastic_bounds=bounds))
    if is_paused(job):
        return [*scheduling_objects, *permanent_objects]
    return [*scheduling_objects, *permanent_objects, *_build_worker_pods(job, workers, files)]


def _is_elastic(job: JobContext) -> bool:
    return job.spec.get("elastic", "enabled").value is True


def _resolve_workers(job: JobContext) -> ReplicaType:
    """Return the workers; an elastic job has the expected number of them."""
    workers = parse_replica_type(job.spec.get("worker"), "worker")
    expected = job.spec.get("elastic", "expectedReplicas")
    if not _is_elastic(job) or not expected.exists:
        return workers
    return workers._replace(replicas=expected.value, replica_origins=(expected, behaviors.ELASTIC_REPLICAS))


def _build_worker_pods(job: JobContext, workers: ReplicaType, files: TracedMap) -> list[ReplicaGroup]:
    """Build worker-0, and the other workers as a separate group: they run only sshd."""
    training_index = find_training_index(job, workers, kind_behaviors.DEEPSPEED_TRAINING_CONTAINER)
    ssh_mounts = ssh_setup.resolve_ssh_mounts(job, None)
    master_spec, other_spec = (
        _build_worker_spec(job, workers, files, ssh_mounts, leads) for leads in (True, False)
    )
    return build_pods_with_master(job, workers, master_spec, other_spec, training_index=training_index)


def _build_worker_spec(
    job: JobContext, workers: ReplicaType, files: TracedMap, ssh_mounts: ssh_setup.SshMounts, is_master: bool
) -> TracedMap:
    launch_overrides = resolve_launch_overrides(job, workers.name, kind_behaviors.DEEPSPEED_DEBUG)
    sshd_path = ssh_setup.resolve_setting(job, behaviors.SSHD_PATH, None)
    mounts = [
        *ssh_setup.build_keys_mounts(job, ssh_mounts),
        ssh_setup.build_file_mount(
            job, ssh_mounts, behaviors.SSH_HOSTFILE_KEY, kind_behaviors.DEEPSPEED_HOSTFILE_PATH
        ),
    ]
    if env_file.get_env_file_key(job) in files:
        key, path = kind_behaviors.DEEPSPEED_ENV_FILE_KEY, kind_behaviors.DEEPSPEED_ENV_FILE_PATH
        mounts.append(ssh_setup.build_file_mount(job, ssh_mounts, key, path))

    def build_training(container: Cursor) -> TracedMap:
        command = (
            build_launcher_command(job, workers, container)
            if is_master
            else ssh_setup.build_sshd_command(job, container, sshd_path)
        )
        return apply_launch_overrides(
            ssh_setup.replace_container_command(job, container, command, mounts), launch_overrides
        )

    choice_behavior = find_configured_behavior(job, kind_behaviors.DEEPSPEED_TRAINING_CONTAINER)
    training_index = find_training_index(job, workers, kind_behaviors.DEEPSPEED_TRAINING_CONTAINER)
    containers = map_containers(workers, training_index, build_training, choice_behavior=choice_behavior)
    ssh_volumes = ssh_setup.build_ssh_volumes(job, ssh_mounts, with_files=True)
    subdomain_fields = build_subdomain_fields(job, workers)
    return build_pod_spec(
        job, workers, containers, launch_overrides, volumes=ssh_volumes, extra_fields=subdomain_fields
    )
