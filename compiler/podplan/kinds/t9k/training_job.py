"""TensorFlowTrainingJob and XGBoostTrainingJob: roles with fixed types, and a master that decides."""

from __future__ import annotations

from collections.abc import Callable

from podplan.core.provenance import Cursor, Traced
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
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
from podplan.kinds.t9k.services import build_discovery_services
from podplan.kinds.t9k.training_pods import (
    TrainingBehaviors,
    build_named_port,
    build_training_spec,
    resolve_port,
)

# The variables that the controller sets in the Pods of a replica type, given the port.
EnvBuilder = Callable[[JobContext, list[ReplicaType], ReplicaType, Traced], list[Traced]]


def find_master_type(roles: list[ReplicaType], master_types: tuple[str, ...]) -> ReplicaType | None:
    """Return the replica type whose first replica is the master: the first of ``master_types`` that has
    one."""
    with_replicas = [role for role in roles if role.replicas > 0]
    return next((role for name in master_types for role in with_replicas if role.name == name), None)


def lower_training_job(
    cr: Cursor,
    options: LoweringOptions,
    master_types: tuple[str, ...],
    training_behaviors: TrainingBehaviors,
    build_env: EnvBuilder,
    build_others: Callable[[JobContext], list[ReplicaGroup]] = lambda _: [],
) -> list[ReplicaGroup]:
    """Lower a job to PodGroup, Services and Pods, and the objects of ``build_others``."""
    job = build_job_context(cr, options)
    roles = parse_replica_types(job)
    master = find_master_type(roles, master_types)
    port = resolve_port(job, master, training_behaviors)
    permanent_objects = [
        *build_others(job),
        *build_discovery_services(job, roles, [build_named_port(job, port, "port", training_behaviors)]),
    ]
    scheduling_objects = build_pod_groups(job, *count_min_members(roles))
    if is_paused(job):
        return [*scheduling_objects, *permanent_objects]
    replica_groups: list[ReplicaGroup] = []
    for role in roles:
        env = build_env(job, roles, role, port)
        spec = build_training_spec(job, role, training_behaviors, port, env)
        index = find_training_index(job, role, training_behaviors.container)
        replica_groups += (
            build_pods_with_master(job, role, spec, spec, training_index=index)
            if role is master
            else build_pods(job, role, spec, labels=build_replica_labels(job, role), training_index=index)
        )
    return [*scheduling_objects, *permanent_objects, *replica_groups]
