"""The rendezvous of a PyTorchTrainingJob: the environment variables, and the torchrun command."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Cause, Cursor, Traced, attribute_to
from podplan.core.typing import Any
from podplan.kinds.common.name_patterns import INDEX_TEXT
from podplan.kinds.t9k.elastic import ElasticBounds
from podplan.kinds.t9k.job import JobContext, ReplicaType, trace_job_name
from podplan.kinds.t9k.pytorch_training_job import behaviors as kind_behaviors
from podplan.kinds.t9k.services import NAMING_BEHAVIORS, build_host_name
from podplan.kinds.t9k.traced_patterns import TracedWords, build_patterned_variables, fill_traced_pattern
from podplan.kinds.t9k.training_pods import TrainingBehaviors, find_first_type


def uses_torchrun(job: JobContext) -> bool:
    return job.spec.get("torchrunConfig", "enabled").value is True


TRAINING_BEHAVIORS = TrainingBehaviors(
    container=kind_behaviors.PYTORCH_TRAINING_CONTAINER,
    port=kind_behaviors.PYTORCH_MASTER_PORT,
    port_name=kind_behaviors.PYTORCH_PORT_NAME,
    port_by_name=kind_behaviors.PYTORCH_PORT_BY_NAME,
    declares_port=kind_behaviors.PYTORCH_DECLARES_PORT,
    env_order=kind_behaviors.PYTORCH_ENV_ORDER,
    env_containers=kind_behaviors.PYTORCH_ENV_CONTAINERS,
)


def build_rendezvous_words(
    job: JobContext, replica_types: list[ReplicaType], port: Traced, bounds: ElasticBounds | None
) -> TracedWords:
    """Return the address of the rendezvous and the number of replicas, which are the same for all replicas.

    The host is the replica of rank 0. ``bounds`` are those of an elastic job.
    """
    first_type = find_first_type(replica_types)
    address_behavior = job.options.first_configured(kind_behaviors.PYTORCH_MASTER_ADDR, *NAMING_BEHAVIORS)
    default_backend = job.options.resolve_behavior(kind_behaviors.RDZV_BACKEND)
    replica_count = sum(role.replicas for role in replica_types)
    replica_origins = tuple(why for role in replica_types for why in role.replica_origins)
    config = job.spec.get("torchrunConfig")
    replicas = attribute_to((kind_behaviors.TORCHRUN_ARGUMENTS, *replica_origins), str(replica_count))
    return {
        "master-addr": attribute_to(
            (first_type.entry.get("type"), address_behavior), build_host_name(job, first_type).text_at(0)
        ),
        "master-port": port._replace(value=str(port.value)),
        "world-size": _build_world_size(job, replica_count, replica_origins),
        "replicas": replicas,
        "nnodes": _build_node_range(bounds) or replicas,
        "processes": _trace_text(config.get("procPerNode")),
        "rdzv-backend": _trace_text(config.get("rdzvBackend"))
        or attribute_to((default_backend, config), default_backend.value),
        "max-restarts": _trace_text(config.get("maxRestarts")),
        "base": attribute_to(job.base_name_origins, job.base_name),
        "job": trace_job_name(job),
    }


def _trace_text(cursor: Cursor) -> Traced | None:
    """Return the written value as text; an empty string counts as missing, as in Go."""
    return attribute_to(cursor, str(cursor.value)) if cursor.exists and cursor.value != "" else None


def _build_world_size(job: JobContext, replica_count: int, replica_origins: tuple[Cause, ...]) -> Traced:
    """Return the number of replicas, or of processes if an option says so and a replica has several."""
    behavior, processes = (
        job.options.resolve_behavior(kind_behaviors.PYTORCH_WORLD_SIZE),
        job.spec.get("torchrunConfig", "procPerNode"),
    )
    processes_text = str(processes.value_or(""))
    if behavior.value == "processes" and processes_text.isdecimal():
        return attribute_to((behavior, *replica_origins, processes), str(replica_count * int(processes_text)))
    return attribute_to((behavior, *replica_origins), str(replica_count))


def _build_node_range(bounds: ElasticBounds | None) -> Traced | None:
    """Return the minimum and maximum number of nodes of an elastic job; None without bounds."""
    if bounds is None or not bounds.is_written:
        return None
    origins = (*bounds.minimum_origins, *bounds.maximum_origins, kind_behaviors.TORCHRUN_ARGUMENTS)
    return attribute_to(origins, f"{bounds.minimum}:{bounds.maximum}")


def build_environment(
    job: JobContext, rendezvous_words: TracedWords, replica_type: ReplicaType, first_rank: int
) -> list[Traced]:
    """Return the variables that the controller sets; ranks only if torchrun does not set them."""
    behavior = job.options.resolve_behavior(
        kind_behaviors.PYTORCH_TORCHRUN_ENV if uses_torchrun(job) else kind_behaviors.PYTORCH_ENV
    )
    rank = attribute_to((kind_behaviors.PYTORCH_RANK, job.spec), Indexed((first_rank,)))
    words = (
        rendezvous_words
        | _build_type_words(replica_type)
        | {"rank": rank, "index": attribute_to(replica_type.entry, INDEX_TEXT)}
    )
    return build_patterned_variables(behavior, words, job.spec)


def _build_type_words(replica_type: ReplicaType) -> TracedWords:
    return {
        "type": attribute_to(
            (replica_type.entry.get("type"), kind_behaviors.TORCHRUN_ARGUMENTS), replica_type.name
        )
    }


def build_torchrun_command(
    job: JobContext, rendezvous_words: TracedWords, replica_type: ReplicaType, container: Cursor
) -> Traced:
    """Build the command of the training container: torchrun and its options; the args of the container
    follow."""
    config, behavior = (
        job.spec.get("torchrunConfig"),
        job.options.resolve_behavior(kind_behaviors.TORCHRUN_ARGUMENTS),
    )
    available_words = rendezvous_words | _build_type_words(replica_type)
    words: list[Any] = []
    for option in behavior.value:
        option_words = [
            fill_traced_pattern(word, available_words, behavior, config) for word in option.split()
        ]
        words += [word for word in option_words if word is not None] if None not in option_words else []
    words += config.get("extraOptions").entries()
    combined_behavior = job.options.first_configured(
        kind_behaviors.TORCHRUN, kind_behaviors.TORCHRUN_ARGUMENTS
    )
    return attribute_to((config, combined_behavior), words, overridden=(container.get("command"),))
