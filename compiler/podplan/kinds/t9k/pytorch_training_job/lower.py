"""Lowers PyTorchTrainingJob: ranks by env, or torchrun in place of the command; elastic; TensorBoard."""

from __future__ import annotations

from functools import partial

from podplan.core.provenance import Cursor, Traced
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.spec import References
from podplan.kinds.t9k.child_metadata import TracedMap
from podplan.kinds.t9k.elastic import resolve_elastic_bounds
from podplan.kinds.t9k.job import (
    JobContext,
    ReplicaType,
    build_job_context,
    is_paused,
    parse_replica_types,
)
from podplan.kinds.t9k.pod_group import build_pod_groups, count_min_members
from podplan.kinds.t9k.pods import (
    build_pods,
    build_pods_with_master,
    build_replica_labels,
    find_training_index,
)
from podplan.kinds.t9k.pytorch_training_job import behaviors as kind_behaviors
from podplan.kinds.t9k.pytorch_training_job.elastic import distribute_replicas, is_elastic
from podplan.kinds.t9k.pytorch_training_job.rendezvous import (
    TRAINING_BEHAVIORS,
    build_environment,
    build_rendezvous_words,
    build_torchrun_command,
    uses_torchrun,
)
from podplan.kinds.t9k.services import build_discovery_services
from podplan.kinds.t9k.tensorboard import build_tensorboards
from podplan.kinds.t9k.traced_patterns import TracedWords
from podplan.kinds.t9k.training_pods import (
    build_named_port,
    build_training_spec,
    find_first_type,
    resolve_port,
)


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """Lower a PyTorchTrainingJob (docs/evidence/t9k-pytorchtrainingjob.md) to PodGroup, TensorBoard,
    Services, Pods."""
    job = build_job_context(cr, options)
    roles = distribute_replicas(job, parse_replica_types(job))
    port = resolve_port(job, find_first_type(roles) if roles else None, TRAINING_BEHAVIORS)
    permanent_objects = [
        *build_tensorboards(job, kind_behaviors.TENSORBOARD),
        *build_discovery_services(job, roles, [build_named_port(job, port, "port", TRAINING_BEHAVIORS)]),
    ]
    bounds = resolve_elastic_bounds(job, roles) if is_elastic(job) else None
    scheduling_objects = build_pod_groups(job, *count_min_members(roles, elastic_bounds=bounds))
    if is_paused(job):
        return [*scheduling_objects, *permanent_objects]
    rendezvous_words = build_rendezvous_words(job, roles, port, bounds)
    replica_groups: list[ReplicaGroup] = []
    first_rank = 0
    for role in roles:
        replica_groups += _build_type_pods(job, rendezvous_words, port, role, first_rank)
        first_rank += role.replicas
    return [*scheduling_objects, *permanent_objects, *replica_groups]


def _build_type_pods(
    job: JobContext,
    rendezvous_words: TracedWords,
    port: Traced,
    replica_type: ReplicaType,
    first_rank: int,
) -> list[ReplicaGroup]:
    """Build the Pods of one replica type; the replica of rank 0 is a separate group, because of its label."""
    spec = _build_type_spec(job, rendezvous_words, port, replica_type, first_rank)
    training_index = find_training_index(job, replica_type, kind_behaviors.PYTORCH_TRAINING_CONTAINER)
    if first_rank == 0:
        return build_pods_with_master(job, replica_type, spec, spec, training_index=training_index)
    return build_pods(
        job, replica_type, spec, labels=build_replica_labels(job, replica_type), training_index=training_index
    )


def _build_type_spec(
    job: JobContext, words: TracedWords, port: Traced, replica_type: ReplicaType, first_rank: int
) -> TracedMap:
    build_command = partial(build_torchrun_command, job, words, replica_type) if uses_torchrun(job) else None
    env = build_environment(job, words, replica_type, first_rank)
    return build_training_spec(job, replica_type, TRAINING_BEHAVIORS, port, env, build_command)
