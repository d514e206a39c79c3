"""Common parts of kinds with a launcher, which starts processes on workers that run sshd."""

from __future__ import annotations

from podplan.core.provenance import Behavior, Cause, Cursor, Traced, attribute_to
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kinds.common.name_patterns import build_name_words, fill_pattern
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
from podplan.kinds.t9k.pod_group import count_min_members
from podplan.kinds.t9k.pods import (
    apply_launch_overrides,
    build_pod_spec,
    build_pods,
    find_name_origins,
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


def count_needed_pods(
    job: JobContext, launcher: ReplicaType, workers: ReplicaType, behavior: Behavior
) -> tuple[int, tuple[Cause, ...]]:
    """Return how many Pods the job needs to start, and the origins of the number; ``behavior`` says whether
    the launcher counts."""
    behavior = job.options.resolve_behavior(behavior)
    roles = [workers] if behavior.value == "workers" else [launcher, workers]
    return count_min_members(roles, behavior=behavior)


def build_launcher_mounts(
    job: JobContext, ssh_mounts: ssh_setup.SshMounts, hostfile_path: Behavior
) -> list[Traced]:
    """Return the mounts of the ssh keys and of the hostfile."""
    return [
        *ssh_setup.build_keys_mounts(job, ssh_mounts),
        ssh_setup.build_file_mount(job, ssh_mounts, behaviors.SSH_HOSTFILE_KEY, hostfile_path),
    ]


def build_launcher_pods(
    job: JobContext,
    launcher_type: ReplicaType,
    container_fields: TracedMap,
    index: int,
    edit_cursor: Cursor,
    ssh_mounts: ssh_setup.SshMounts,
    labels: TracedMap,
    *,
    name_behavior: Behavior,
    container_behavior: Behavior,
) -> list[ReplicaGroup]:
    """Build the Pod of the launcher, whose container at ``index`` gets ``container_fields``.

    ``edit_cursor`` is where a person would write the fields that the container lacks. The behaviors name the
    Pod and the container.
    """
    launch_overrides = resolve_launch_overrides(job, launcher_type.name)
    choice_behavior = job.options.first_configured(name_behavior, container_behavior)
    launcher = attribute_to(
        (edit_cursor, choice_behavior), apply_launch_overrides(container_fields, launch_overrides)
    )
    containers: list[Cursor | Traced] = [*launcher_type.template.get("spec", "containers").entries()]
    containers[index : index + 1] = [launcher]
    name_behavior = job.options.resolve_behavior(name_behavior)
    return build_type_pods(
        job,
        launcher_type,
        containers,
        launch_overrides,
        labels=labels,
        volumes=ssh_setup.build_ssh_volumes(job, ssh_mounts, with_files=True),
        name=str(fill_pattern(name_behavior.value, build_name_words(job.name_words, launcher_type.name))),
        name_origins=find_name_origins(job, name_behavior),
        training_index=index,
    )


def list_entries(list_value: Any) -> list[Cursor]:
    """Return the entries of a list that is written; none if it is not."""
    return list_value.entries() if isinstance(list_value, Cursor) else []
