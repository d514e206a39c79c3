"""Common parts of kinds with a launcher, which starts processes on workers that run sshd."""

from __future__ import annotations

from podplan.core.provenance import Behavior, Cause, Cursor
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kinds.t9k import behaviors, ssh_setup
from podplan.kinds.t9k.child_metadata import TracedMap
from podplan.kinds.t9k.job import (
    JobContext,
    LaunchOverrides,
    ReplicaType,
    find_configured_behavior,
    parse_replica_types,
    resolve_launch_overrides,
)
from podplan.kinds.t9k.pods import (
    apply_launch_overrides,
    build_pod_spec,
    build_pods,
    find_training_index,
    map_containers,
)


def build_absent_cursor(parent: Cursor, *steps: str) -> Cursor:
    """Return a cursor below ``parent`` that counts as missing, even if the field exists."""
    return Cursor(parent.doc, (*parent.path, *steps), None)


def find_launcher_and_workers(job: JobContext) -> tuple[ReplicaType, ReplicaType]:
    """Return the launcher, of which there is at most one, and the workers of ``replicaSpecs``.

    Of several entries of one type, the first applies; without an entry there is one launcher, and no worker.
    """
    roles = parse_replica_types(job)
    launcher, workers = (
        next((role for role in roles if role.name == name), _build_missing_type(job, name, replicas))
        for name, replicas in (("launcher", 1), ("worker", 0))
    )
    return launcher._replace(replicas=min(1, launcher.replicas)), workers


def _build_missing_type(job: JobContext, type_name: str, replicas: int) -> ReplicaType:
    """Return a replica type that replicaSpecs does not contain."""
    specs = job.spec.get("replicaSpecs")
    return ReplicaType(
        type_name,
        specs,
        replicas,
        (behaviors.DEFAULT_REPLICAS, specs),
        build_absent_cursor(specs, "template"),
    )


def build_sshd_workers(
    job: JobContext,
    workers: ReplicaType,
    ssh_mounts: ssh_setup.SshMounts,
    container_behavior: Behavior,
    labels: TracedMap,
    debug_behavior: Behavior = behaviors.DEBUG_COMMAND,
    extra_fields: TracedMap | None = None,
) -> list[ReplicaGroup]:
    """Build the workers: their training container, which ``container_behavior`` names, runs sshd."""
    launch_overrides = resolve_launch_overrides(job, workers.name, debug_behavior)
    sshd_path = ssh_setup.resolve_setting(job, behaviors.SSHD_PATH, job.spec.get("ssh", "sshdPath"))
    mounts = ssh_setup.build_keys_mounts(job, ssh_mounts)

    def build_training(container: Cursor) -> dict[str, object]:
        command = ssh_setup.build_sshd_command(job, container, sshd_path)
        return apply_launch_overrides(
            ssh_setup.replace_container_command(job, container, command, mounts), launch_overrides
        )

    choice_behavior = find_configured_behavior(job, container_behavior)
    training_index = find_training_index(job, workers, container_behavior)
    return build_type_pods(
        job,
        workers,
        map_containers(workers, training_index, build_training, choice_behavior=choice_behavior),
        launch_overrides,
        labels=labels,
        volumes=ssh_setup.build_ssh_volumes(job, ssh_mounts, with_files=False),
        training_index=training_index,
        extra_fields=extra_fields,
    )


def build_type_pods(
    job: JobContext,
    replica_type: ReplicaType,
    containers: list[Any],
    launch_overrides: LaunchOverrides,
    *,
    labels: TracedMap,
    volumes: list[Any],
    training_index: int,
    extra_fields: TracedMap | None = None,
    name: str | None = None,
    name_origins: tuple[Cause, ...] | None = None,
) -> list[ReplicaGroup]:
    """Build the Pods of the launcher or of the workers with ``containers``; see ``build_pod_spec`` and
    ``build_pods``."""
    spec = build_pod_spec(
        job,
        replica_type,
        containers,
        launch_overrides,
        restart_behavior=behaviors.RESTART_NEVER_ASSUMED,
        volumes=volumes,
        extra_fields=extra_fields,
    )
    return build_pods(
        job,
        replica_type,
        spec,
        labels=labels,
        name=name,
        name_origins=name_origins,
        training_index=training_index,
    )
