"""Lowers PyTorchTrainingJob: ranks by env, or torchrun in place of the command; elastic; TensorBoard."""

from __future__ import annotations

from podplan.core.provenance import Cursor, Traced, attribute_to
from podplan.core.replica_groups import CONFIGURED_BASIS, LoweringOptions, ReplicaGroup, build_group
from podplan.core.typing import Any
from podplan.kinds.spec import References
from podplan.kinds.t9k.child_metadata import TracedMap, build_child_metadata
from podplan.kinds.t9k.elastic import resolve_elastic_bounds
from podplan.kinds.t9k.job import (
    JobContext,
    ReplicaType,
    build_job_context,
    find_configured_behavior,
    is_paused,
    parse_replica_types,
    resolve_launch_overrides,
)
from podplan.kinds.t9k.pod_group import build_pod_groups, count_min_members
from podplan.kinds.t9k.pods import (
    apply_launch_overrides,
    build_pod_spec,
    build_pods,
    build_pods_with_master,
    build_replica_labels,
    find_training_index,
    map_containers,
)
from podplan.kinds.t9k.pytorch_training_job import behaviors as kind_behaviors
from podplan.kinds.t9k.pytorch_training_job.elastic import distribute_replicas, is_elastic
from podplan.kinds.t9k.pytorch_training_job.rendezvous import (
    RendezvousWords,
    build_environment,
    build_named_port,
    build_rendezvous_words,
    build_torchrun_command,
    resolve_rendezvous_port,
    uses_torchrun,
)
from podplan.kinds.t9k.services import build_discovery_services, build_subdomain_fields


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """Lower a PyTorchTrainingJob (docs/evidence/t9k-pytorchtrainingjob.md) to PodGroup, TensorBoard,
    Services, Pods."""
    job = build_job_context(cr, options)
    roles = distribute_replicas(job, parse_replica_types(job))
    port = resolve_rendezvous_port(job, roles)
    permanent_objects = [
        *_build_tensorboard(job),
        *build_discovery_services(job, roles, [build_named_port(job, port, "port")]),
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
    rendezvous_words: RendezvousWords,
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
    job: JobContext,
    rendezvous_words: RendezvousWords,
    port: Traced,
    replica_type: ReplicaType,
    first_rank: int,
) -> TracedMap:
    launch_overrides = resolve_launch_overrides(job, replica_type.name)

    def add_environment(container: Cursor) -> TracedMap:
        controller_env, container_env = (
            build_environment(job, rendezvous_words, replica_type, first_rank),
            container.get("env").entries(),
        )
        order_behavior = job.options.resolve_behavior(kind_behaviors.PYTORCH_ENV_ORDER)
        env: Any = (
            [*controller_env, *container_env]
            if order_behavior.value == "before"
            else [*container_env, *controller_env]
        )
        env = (
            attribute_to((order_behavior, container.get("env")), env)
            if order_behavior.basis == CONFIGURED_BASIS
            else env
        )
        return {**container.fields(), "env": env}

    def build_training(container: Cursor) -> TracedMap:
        tree = add_environment(container)
        if port_entries := _build_port_entries(job, port, container):
            tree["ports"] = [*container.get("ports").entries(), *port_entries]
        if uses_torchrun(job):
            tree["command"] = build_torchrun_command(job, rendezvous_words, replica_type, container)
        return apply_launch_overrides(tree, launch_overrides)

    is_training_only = job.options.resolve_behavior(kind_behaviors.PYTORCH_ENV_CONTAINERS).value == "training"
    build_other = None if is_training_only else add_environment
    choice_behavior = find_configured_behavior(job, kind_behaviors.PYTORCH_TRAINING_CONTAINER)
    training_index = find_training_index(job, replica_type, kind_behaviors.PYTORCH_TRAINING_CONTAINER)
    containers = map_containers(replica_type, training_index, build_training, build_other, choice_behavior)
    return build_pod_spec(
        job,
        replica_type,
        containers,
        launch_overrides,
        extra_fields=build_subdomain_fields(job, replica_type),
    )


def _build_port_entries(job: JobContext, port: Traced, container: Cursor) -> list[object]:
    """Return the rendezvous port, unless the container declares the port or its name itself."""
    if not job.options.resolve_behavior(kind_behaviors.PYTORCH_DECLARES_PORT).value:
        return []
    port_entry = build_named_port(job, port, "containerPort")
    for container_port in container.get("ports").entries():
        if port_entry.value["name"] == container_port.get("name").value:
            return []
        if port.value == container_port.get("containerPort").value:
            return []
    return [port_entry]


def _build_tensorboard(job: JobContext) -> list[ReplicaGroup]:
    spec = job.spec.get("tensorboardSpec")
    if not spec.exists:
        return []
    tree = attribute_to(
        (spec, kind_behaviors.TENSORBOARD),
        {
            "apiVersion": "tensorstack.dev/v1beta1",
            "kind": "TensorBoard",
            "metadata": build_child_metadata(job, job.base_name, kind="TensorBoard", labels=job.labels),
            "spec": spec,
        },
    )
    return [build_group(tree)]
