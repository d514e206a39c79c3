"""A job that is lowered: its name, the names of its children, its replica types and its run mode."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.provenance import Behavior, Cause, Cursor, Traced, attribute_to, copy_traced
from podplan.core.replica_groups import CONFIGURED_BASIS, UID_FLAG, LoweringOptions
from podplan.core.typing import NamedTuple
from podplan.kinds.t9k import behaviors

GENERATED_SUFFIX = "xxxxx"  # in place of the five characters that the API server adds to generateName


class JobContext(NamedTuple):
    """A CR with what all its children share.

    ``base_name`` begins the names of children; ``name_origins`` and ``base_name_origins`` are the origins of
    the names, the place to edit first. ``debug_entries`` and ``resume_entries`` are the parts of the run mode
    by replica type. ``name_words`` are the placeholder values of names, and ``labels`` identify the owner of
    a child.
    """

    cr: Cursor
    spec: Cursor
    kind: str
    name: str
    name_origins: tuple[Cause, ...]
    base_name: str
    base_name_origins: tuple[Cause, ...]
    uid: Traced | Cursor
    options: LoweringOptions
    debug_entries: Mapping[str, Cursor]
    resume_entries: Mapping[str, Cursor]
    name_words: Mapping[str, str]
    labels: Mapping[str, Traced]


class ReplicaType(NamedTuple):
    """One replica type; ``replica_origins`` are the origins of its number of replicas."""

    name: str
    entry: Cursor
    replicas: int
    replica_origins: tuple[Cause, ...]
    template: Cursor


def build_job_context(cr: Cursor, options: LoweringOptions) -> JobContext:
    """Build the context of a CR that fits its schema."""
    name, name_origins = _resolve_job_name(cr.get("metadata"))
    uid_field = cr.get("metadata", "uid")
    uid = attribute_to(UID_FLAG, options.uid) if options.uid and not uid_field.value else uid_field
    kind = str(cr.value["kind"])
    options = options if options.kind else options._replace(kind=kind)
    base_name, behavior = name, behaviors.BASE_NAME_WITHOUT_UID
    if uid.value:
        behavior = options.resolve_behavior(behaviors.BASE_NAME_SUFFIX)
        base_name = (
            f"{name}-{compute_name_suffix(name, uid.value, behavior.value)}" if behavior.value else name
        )
    spec = cr.get("spec")
    debug_entries = index_entries("type", spec.get("runMode", "debug", "replicaSpecs"))
    resume_entries = index_entries("type", spec.get("runMode", "pause", "resumeSpecs"))
    name_words = {
        "base": base_name,
        "job": name,
        "kind": kind,
        "component": kind.lower(),
        "namespace": cr.get("metadata", "namespace").value_or("default"),
    }
    labels = {
        "tensorstack.dev/owner-name": attribute_to((behaviors.OWNER_NAME, *name_origins), name),
        "tensorstack.dev/owner-kind": attribute_to((behaviors.OWNER_KIND, cr["kind"]), kind),
        "tensorstack.dev/component": attribute_to((behaviors.COMPONENT, cr["kind"]), kind.lower()),
        "tensorstack.dev/component-type": attribute_to((behaviors.COMPONENT, cr["kind"]), "user"),
    }
    base_name_origins = (*name_origins, behavior)
    return JobContext(
        cr,
        spec,
        kind,
        name,
        name_origins,
        base_name,
        base_name_origins,
        uid,
        options,
        debug_entries,
        resume_entries,
        name_words,
        labels,
    )


def index_entries(key: str, list_cursor: Cursor) -> dict[str, Cursor]:
    """Index the entries of a list by their value under ``key``; of two with the same value, the first."""
    return {entry[key].value: entry for entry in reversed(list_cursor.entries()) if entry.get(key).exists}


def _resolve_job_name(metadata: Cursor) -> tuple[str, tuple[Cause, ...]]:
    """Return the name of a job, or a placeholder for the one that the API server generates, and its
    origins."""
    name, prefix = metadata.get("name"), metadata.get("generateName")
    if name.value or not prefix.exists:
        return str(name.value_or("")), (name,)
    return f"{prefix.value}{GENERATED_SUFFIX}", (prefix, behaviors.GENERATED_NAME)


def find_configured_behavior(job: JobContext, behavior: Behavior) -> Behavior | None:
    """Return ``behavior`` with its value if the configuration sets one, else None."""
    configured_behavior = job.options.resolve_behavior(behavior)
    return configured_behavior if configured_behavior.basis == CONFIGURED_BASIS else None


def trace_job_name(job: JobContext) -> Traced:
    """Return the name of the job as a traced value for its children."""
    return attribute_to(job.name_origins, job.name)


def compute_name_suffix(name: str, uid: str, length: int = 5) -> str:
    """Return the hex digits that the controller appends to the name of a job.

    Source: docs/evidence/t9k-common.md#suffix-of-the-base-name.
    """
    return f"{hash_fnv1a64((name + uid).encode()):016x}"[:length]


def hash_fnv1a64(data: bytes) -> int:
    """FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/)."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def parse_replica_types(job: JobContext) -> list[ReplicaType]:
    """Return the replica types in ``replicaSpecs``, in the order written."""
    return [
        parse_replica_type(entry, str(entry.get("type").value_or("")))
        for entry in job.spec.get("replicaSpecs").entries()
    ]


def parse_replica_type(entry: Cursor, type_name: str) -> ReplicaType:
    """Return the replica type of an entry with ``replicas`` and ``template``."""
    replicas = entry.get("replicas")
    replica_origins: tuple[Cause, ...] = (
        (replicas,) if replicas.exists else (behaviors.DEFAULT_REPLICAS, entry)
    )
    return ReplicaType(type_name, entry, replicas.value_or(1), replica_origins, entry.get("template"))


def is_paused(job: JobContext) -> bool:
    """Whether the job currently has no Pods: it is in pause mode, which takes precedence over debug mode.

    Source: docs/evidence/t9k-common.md#debug-and-pause-together.
    """
    return job.spec.get("runMode", "pause", "enabled").value is True and not job.options.resumed


class LaunchOverrides(NamedTuple):
    """What the run mode changes in the containers of a replica type.

    ``command`` and ``args`` replace those of immediate mode unless they are None. ``keep_args`` keeps the
    args of immediate mode, because of ``kept_args_behavior``; ``keep_init_containers`` keeps the init
    containers.
    """

    command: Traced | None = None
    args: Traced | None = None
    keep_args: bool = True
    keep_init_containers: bool = True
    kept_args_behavior: Behavior | None = None


def resolve_launch_overrides(
    job: JobContext, type_name: str, debug_behavior: Behavior = behaviors.DEBUG_COMMAND
) -> LaunchOverrides:
    """Resolve the launch of one replica type; the value of ``debug_behavior`` is the debug command of the
    kind.

    An empty command or args counts as missing. The ``resumeSpecs`` of a resumed job take precedence over
    debug mode (docs/evidence/t9k-common.md#commands-on-resuming-in-debug-mode); a replica type for which they
    have neither is then in debug mode.
    """
    debug_section, pause_section = job.spec.get("runMode", "debug"), job.spec.get("runMode", "pause")
    is_resuming = job.options.resumed and pause_section.get("enabled").value is True
    resume_entry = job.resume_entries.get(type_name, pause_section.get("resumeSpecs", type_name))
    skips_init = is_resuming and _skips_init_containers(resume_entry)
    if is_resuming:
        command, args = (
            _copy_words(resume_entry.get(key), behaviors.RESUME_COMMAND) for key in ("command", "args")
        )
        if command or args:
            return LaunchOverrides(command, args, keep_init_containers=not skips_init)
    if debug_section.get("enabled").value is True:
        debug_entry = job.debug_entries.get(type_name, debug_section.get("replicaSpecs", type_name))
        command = _copy_words(debug_entry.get("command")) or _build_debug_command(
            job, debug_behavior, debug_section
        )
        keep_args_behavior = job.options.resolve_behavior(behaviors.DEBUG_ARGS)
        if keep_args_behavior.value:
            return LaunchOverrides(
                command,
                keep_init_containers=not (skips_init or _skips_init_containers(debug_entry)),
                kept_args_behavior=keep_args_behavior,
            )
        return LaunchOverrides(
            command,
            keep_args=False,
            keep_init_containers=not (skips_init or _skips_init_containers(debug_entry)),
        )
    return LaunchOverrides(keep_init_containers=not skips_init)


def _copy_words(words: Cursor, behavior: Behavior | None = None) -> Traced | None:
    """Return the words as written, or None if there are none."""
    if not words.value:
        return None
    return copy_traced(words, behavior=behavior)


def _build_debug_command(job: JobContext, debug_behavior: Behavior, debug_section: Cursor) -> Traced:
    behavior = job.options.resolve_behavior(debug_behavior)
    return attribute_to((behavior, debug_section.get("enabled")), [str(word) for word in behavior.value])


def _skips_init_containers(entry: Cursor) -> bool:
    return entry.get("skipInitContainer").value is True
