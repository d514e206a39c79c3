"""Pods of the kinds whose replicas find each other by variables and by a port that the controller sets."""

from __future__ import annotations

from collections.abc import Callable

from podplan.core.provenance import Behavior, Cursor, Traced, attribute_to
from podplan.core.replica_groups import CONFIGURED_BASIS
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.t9k.child_metadata import TracedMap
from podplan.kinds.t9k.job import (
    JobContext,
    ReplicaType,
    find_configured_behavior,
    resolve_launch_overrides,
)
from podplan.kinds.t9k.pods import (
    apply_launch_overrides,
    build_pod_spec,
    find_training_container,
    find_training_index,
    map_containers,
)
from podplan.kinds.t9k.services import build_subdomain_fields


class TrainingBehaviors(NamedTuple):
    """The behaviors of one controller.

    ``container`` is the name of the training container, ``port`` the number of the port and ``port_name`` its
    name; ``port_by_name`` tells whether a declared port of that name replaces the number, None for never.
    ``declares_port``, ``env_order`` and ``env_containers`` tell where the port and the variables are set.
    """

    container: Behavior
    port: Behavior
    port_name: Behavior
    port_by_name: Behavior | None
    declares_port: Behavior
    env_order: Behavior
    env_containers: Behavior


def find_first_type(replica_types: list[ReplicaType]) -> ReplicaType:
    """Return the replica type of rank 0."""
    return next((role for role in replica_types if role.replicas > 0), replica_types[0])


def resolve_port(
    job: JobContext, replica_type: ReplicaType | None, training_behaviors: TrainingBehaviors
) -> Traced:
    """Return the number of the port: the one that ``replica_type`` declares under its name, else that of the
    controller."""
    port_behavior = job.options.resolve_behavior(training_behaviors.port)
    if training_behaviors.port_by_name is None:
        return attribute_to((port_behavior, job.spec), port_behavior.value)
    by_name_behavior = job.options.resolve_behavior(training_behaviors.port_by_name)
    declared_port = _find_declared_port(job, replica_type, training_behaviors) if replica_type else None
    if declared_port is None:
        return attribute_to((port_behavior, job.spec), port_behavior.value)
    if by_name_behavior.value:
        return attribute_to((declared_port, by_name_behavior), declared_port.value)
    combined_behavior = job.options.first_configured(training_behaviors.port, training_behaviors.port_by_name)
    return attribute_to((combined_behavior, job.spec), port_behavior.value)


def _find_declared_port(
    job: JobContext, replica_type: ReplicaType, training_behaviors: TrainingBehaviors
) -> Cursor | None:
    """Return the number that the training container declares under the name of the port, or None."""
    name = job.options.resolve_behavior(training_behaviors.port_name).value
    container = find_training_container(job, replica_type, training_behaviors.container)
    numbers = (
        port.get("containerPort")
        for port in container.get("ports").entries()
        if port.get("name").value == name
    )
    return next((number for number in numbers if isinstance(number.value, int)), None)


def build_named_port(
    job: JobContext, port: Traced, key: str, training_behaviors: TrainingBehaviors
) -> Traced:
    """Return the port as an entry of ``ports``; ``key`` is port or containerPort."""
    name = job.options.resolve_behavior(training_behaviors.port_name)
    return attribute_to((name, job.spec), {"name": name.value, key: port})


def build_training_spec(
    job: JobContext,
    replica_type: ReplicaType,
    training_behaviors: TrainingBehaviors,
    port: Traced,
    controller_env: list[Traced],
    build_command: Callable[[Cursor], Traced] | None = None,
) -> TracedMap:
    """Build the spec of the Pods of a replica type, with the variables of the controller and the port.

    ``build_command`` builds the command of the training container where the controller sets it.
    """
    launch_overrides = resolve_launch_overrides(job, replica_type.name)

    def add_environment(container: Cursor) -> TracedMap:
        container_env = container.get("env").entries()
        order_behavior = job.options.resolve_behavior(training_behaviors.env_order)
        env: Any = (
            [*controller_env, *container_env]
            if order_behavior.value == "before"
            else [*container_env, *controller_env]
        )
        if not env:
            return {**container.fields()}
        env = (
            attribute_to((order_behavior, container.get("env")), env)
            if order_behavior.basis == CONFIGURED_BASIS
            else env
        )
        return {**container.fields(), "env": env}

    def build_training(container: Cursor) -> TracedMap:
        tree = add_environment(container)
        if port_entries := _build_port_entries(job, port, container, training_behaviors):
            tree["ports"] = [*container.get("ports").entries(), *port_entries]
        if build_command is not None:
            tree["command"] = build_command(container)
        return apply_launch_overrides(tree, launch_overrides)

    is_training_only = job.options.resolve_behavior(training_behaviors.env_containers).value == "training"
    containers = map_containers(
        replica_type,
        find_training_index(job, replica_type, training_behaviors.container),
        build_training,
        None if is_training_only else add_environment,
        find_configured_behavior(job, training_behaviors.container),
    )
    return build_pod_spec(
        job,
        replica_type,
        containers,
        launch_overrides,
        extra_fields=build_subdomain_fields(job, replica_type),
    )


def _build_port_entries(
    job: JobContext, port: Traced, container: Cursor, training_behaviors: TrainingBehaviors
) -> list[object]:
    """Return the port, unless the container declares the port or its name itself."""
    if not job.options.resolve_behavior(training_behaviors.declares_port).value:
        return []
    port_entry = build_named_port(job, port, "containerPort", training_behaviors)
    for container_port in container.get("ports").entries():
        if port_entry.value["name"] == container_port.get("name").value:
            return []
        if port.value == container_port.get("containerPort").value:
            return []
    return [port_entry]
