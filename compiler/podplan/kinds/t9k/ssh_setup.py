"""Common parts of kinds that reach their workers over ssh: keys, hostfile, mounts, sshd and its port."""

from __future__ import annotations

from base64 import b64encode

from podplan.core.indexed_text import Indexed, Listing, RepeatedLine
from podplan.core.provenance import (
    Behavior,
    Cause,
    Cursor,
    Traced,
    apply_default,
    attribute_to,
    compute_traced,
)
from podplan.core.replica_groups import ReplicaGroup, build_group
from podplan.core.typing import NamedTuple
from podplan.kinds.common.name_patterns import build_name_words, fill_pattern
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.child_metadata import TracedMap, build_child_metadata
from podplan.kinds.t9k.job import JobContext, ReplicaType
from podplan.kinds.t9k.pods import find_name_origins
from podplan.kinds.t9k.services import NAMING_BEHAVIORS, build_host_name
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text

KEY_PLACEHOLDER = "placeholder written by podplan, not a key\n"


def build_secret(job: JobContext) -> ReplicaGroup:
    """Build the Secret with the keys of the job and the settings of the ssh client; it contains no real
    key."""
    key = attribute_to((behaviors.SSH_KEY_PLACEHOLDER, job.spec), _encode_base64(KEY_PLACEHOLDER))
    client_config, port = (
        job.options.resolve_behavior(behaviors.SSH_CLIENT_CONFIG),
        job.options.resolve_behavior(behaviors.SSH_PORT),
    )
    ssh_config = f"{client_config.value}  Port {port.value}\n"
    tree = attribute_to(
        (job.spec, behaviors.SSH_SECRET),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": _build_object_metadata(job, behaviors.SSH_SECRET, "Secret"),
            "type": "kubernetes.io/ssh-auth",
            "data": {
                "ssh-privatekey": key,
                "ssh-publickey": key,
                "config": attribute_to((client_config, job.spec), _encode_base64(ssh_config)),
            },
        },
    )
    return build_group(tree)


def build_config_map(job: JobContext, files: TracedMap) -> ReplicaGroup:
    """Build the ConfigMap with the hostfile and other files of the job."""
    tree = attribute_to(
        (job.spec, behaviors.SSH_CONFIG_MAP),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": _build_object_metadata(job, behaviors.SSH_CONFIG_MAP, "ConfigMap"),
            "data": files,
        },
    )
    return build_group(tree)


def build_hostfile(
    job: JobContext,
    workers: ReplicaType,
    line_behavior: Behavior,
    slots: int | None = None,
    *slots_origins: Cause,
    host: Indexed | None = None,
    naming_behaviors: tuple[Behavior, ...] = NAMING_BEHAVIORS,
) -> TracedMap:
    """Build the hostfile, as a file of the ConfigMap: a line for each worker in the form of
    ``line_behavior``.

    ``slots_origins`` are the origins of the number of slots. ``host`` replaces the usual name of a worker;
    ``naming_behaviors`` are those that the name depends on.
    """
    pattern = job.options.resolve_behavior(line_behavior).value + "\n"
    line = fill_pattern(pattern, {"host": host or build_host_name(job, workers), "slots": slots})
    listing_run = RepeatedLine(
        line if isinstance(line, Indexed) else Indexed((line or "",)), 0, max(workers.replicas, 0)
    )
    slots_behaviors = [why for why in slots_origins if isinstance(why, Behavior)]
    combined_behavior = job.options.first_configured(
        behaviors.HOSTFILE, behaviors.SSH_HOSTFILE_KEY, line_behavior, *slots_behaviors, *naming_behaviors
    )
    return {
        get_hostfile_key(job): attribute_to(
            (combined_behavior, *workers.replica_origins, *slots_origins), Listing((listing_run,))
        )
    }


def get_hostfile_key(job: JobContext) -> str:
    """Return the key of the hostfile in the ConfigMap."""
    return str(job.options.resolve_behavior(behaviors.SSH_HOSTFILE_KEY).value)


def resolve_setting(job: JobContext, behavior: Behavior, field_cursor: Cursor | None) -> Cursor | Traced:
    """Return the written field, if the kind has it, else the value of ``behavior``."""
    behavior = job.options.resolve_behavior(behavior)
    return (
        apply_default(field_cursor, behavior)
        if field_cursor is not None
        else attribute_to((behavior, job.spec), behavior.value)
    )


class SshMounts(NamedTuple):
    """The mounts of the Pods of a job: the names of the volumes, and the path of the keys."""

    keys_volume: Traced
    files_volume: Traced
    keys_path: Cursor | Traced


def resolve_ssh_mounts(job: JobContext, keys_path: Cursor | None) -> SshMounts:
    """Resolve the names of the volumes, with a number if a template uses one; ``keys_path`` is the field
    for the path."""
    spec = job.spec.value
    type_specs = [get_mapping(spec, "worker"), *(role for _, role in get_entries(spec, "replicaSpecs"))]
    volume_names = {
        get_text(volume, "name")
        for role in type_specs
        for _, volume in get_entries(get_mapping(get_mapping(role, "template"), "spec"), "volumes")
    }
    keys_volume, files_volume = (
        _find_free_volume_name(job, fact, volume_names)
        for fact in (behaviors.SSH_KEYS_VOLUME, behaviors.SSH_FILES_VOLUME)
    )
    return SshMounts(keys_volume, files_volume, resolve_setting(job, behaviors.SSH_MOUNT_PATH, keys_path))


def _find_free_volume_name(job: JobContext, behavior: Behavior, volume_names: set[str]) -> Traced:
    behavior = job.options.resolve_behavior(behavior)
    name = behavior.value
    candidates = (f"{name}-{number}" if number else name for number in range(len(volume_names) + 1))
    return attribute_to(
        (behavior, job.spec), next(candidate for candidate in candidates if candidate not in volume_names)
    )


def build_ssh_volumes(job: JobContext, ssh_mounts: SshMounts, *, with_files: bool) -> list[Traced]:
    """Return the volumes of a Pod: the keys, and the files if it mounts any."""
    secret_behavior, key_files = (
        job.options.resolve_behavior(behaviors.SSH_SECRET),
        job.options.resolve_behavior(behaviors.SSH_KEY_FILES),
    )
    pairs = [entry.partition(":") for entry in key_files.value]
    keys_source: TracedMap = {
        "secretName": attribute_to(
            (secret_behavior, *job.name_origins), _build_object_name(job, secret_behavior)
        ),
        "items": attribute_to((key_files, job.spec), [{"key": key, "path": path} for key, _, path in pairs]),
    }
    if ssh_mounts.keys_path.value == behaviors.SSH_MOUNT_PATH.value:
        mode = job.options.resolve_behavior(behaviors.SSH_KEY_MODE)
        keys_source["defaultMode"] = attribute_to((mode, job.spec), mode.value)
    ssh_volumes = [
        attribute_to(
            (job.spec, behaviors.SSH_SECRET), {"name": ssh_mounts.keys_volume, "secret": keys_source}
        )
    ]
    if with_files:
        behavior = job.options.resolve_behavior(behaviors.SSH_CONFIG_MAP)
        source = {"name": attribute_to((behavior, *job.name_origins), _build_object_name(job, behavior))}
        ssh_volumes.append(
            attribute_to(
                (job.spec, behaviors.SSH_CONFIG_MAP), {"name": ssh_mounts.files_volume, "configMap": source}
            )
        )
    return ssh_volumes


def build_keys_mounts(job: JobContext, ssh_mounts: SshMounts) -> list[Traced]:
    """Return the mounts of the keys: one for each file, or one of the folder."""
    name, keys_path = ssh_mounts.keys_volume, ssh_mounts.keys_path
    per_file, key_files = (
        job.options.resolve_behavior(behaviors.SSH_KEYS_APART),
        job.options.resolve_behavior(behaviors.SSH_KEY_FILES),
    )
    if not per_file.value:
        return [attribute_to((job.spec, per_file), {"name": name, "mountPath": keys_path})]
    file_names = [entry.partition(":")[2] for entry in key_files.value]
    return [
        attribute_to(
            (job.spec, per_file),
            {"name": name, "mountPath": _join_keys_path(keys_path, file), "subPath": file},
        )
        for file in file_names
    ]


def _join_keys_path(keys_path: Cursor | Traced, file: str) -> Traced:
    path = f"{str(keys_path.value).rstrip('/')}/{file}"
    return (
        keys_path._replace(value=path)
        if isinstance(keys_path, Traced)
        else compute_traced(lambda _: path, keys_path)
    )


def build_file_mount(
    job: JobContext, ssh_mounts: SshMounts, key_behavior: Behavior, path_behavior: Behavior
) -> Traced:
    """Return the mount of one file of the ConfigMap, with the key and the path from two behaviors."""
    path_behavior, key_behavior = (
        job.options.resolve_behavior(path_behavior),
        job.options.resolve_behavior(key_behavior),
    )
    sub_path = attribute_to((key_behavior, job.spec), key_behavior.value)
    return attribute_to(
        (path_behavior, job.spec),
        {"name": ssh_mounts.files_volume, "mountPath": path_behavior.value, "subPath": sub_path},
    )


def build_sshd_command(job: JobContext, container: Cursor, sshd_path: Cursor | Traced) -> Traced:
    """Return the command of a worker: sshd instead of the command of the container."""
    combined_behavior = job.options.first_configured(behaviors.SSHD, behaviors.SSHD_ARGUMENTS)
    return attribute_to(
        (job.spec, combined_behavior),
        [sshd_path, *build_sshd_arguments(job)],
        overridden=find_ignored_fields(container),
    )


def build_sshd_arguments(job: JobContext) -> list[Traced]:
    """Return the arguments of sshd."""
    behavior = job.options.resolve_behavior(behaviors.SSHD_ARGUMENTS)
    return [attribute_to((behavior, job.spec), str(word)) for word in behavior.value]


def find_ignored_fields(container: Cursor) -> tuple[Cursor, Cursor]:
    """Return the command and args of a container whose command the controller replaces."""
    return container.get("command"), container.get("args")


def replace_container_command(
    job: JobContext, container: Cursor, command: Traced, mounts: list[Traced]
) -> TracedMap:
    """Return a container with a command of the controller instead of its own, and with further mounts."""
    tree: TracedMap = {**container.fields()}
    declare_port = job.options.resolve_behavior(behaviors.SSH_DECLARES_PORT)
    if declare_port.value:
        port = attribute_to((declare_port, job.spec), _build_port(job, "containerPort"))
        tree["ports"] = [*container.get("ports").entries(), port]
    tree.pop("args", None)
    tree["command"] = command
    tree["volumeMounts"] = [*container.get("volumeMounts").entries(), *mounts]
    return tree


def build_service_port(job: JobContext) -> Traced:
    """Return the port of sshd as a port of a Service."""
    return attribute_to(
        (job.options.resolve_behavior(behaviors.SSH_PORT), job.spec), _build_port(job, "port")
    )


def _build_port(job: JobContext, key: str) -> TracedMap:
    port, name = (
        job.options.resolve_behavior(behaviors.SSH_PORT),
        job.options.resolve_behavior(behaviors.SSH_PORT_NAME),
    )
    return {
        "name": attribute_to((name, job.spec), name.value),
        key: attribute_to((port, job.spec), port.value),
    }


def _build_object_metadata(job: JobContext, name_behavior: Behavior, kind: str) -> TracedMap:
    """Build the metadata of an object of the job whose name comes from ``name_behavior``."""
    return build_child_metadata(
        job,
        _build_object_name(job, name_behavior),
        kind=kind,
        labels=job.labels,
        name_origins=find_name_origins(job, name_behavior),
    )


def _build_object_name(job: JobContext, behavior: Behavior) -> str:
    return str(fill_pattern(job.options.resolve_behavior(behavior).value, build_name_words(job.name_words)))


def _encode_base64(text: str) -> str:
    return b64encode(text.encode()).decode()
