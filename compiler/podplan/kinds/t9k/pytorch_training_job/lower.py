"""PyTorchTrainingJob: ranks by env, or torchrun in place of the command; elastic; TensorBoard."""

from __future__ import annotations

from podplan.core.provenance import Cursor, Marked, at
from podplan.core.replica_groups import CONFIGURED, Group, Options, group
from podplan.core.typing import Any
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.child_metadata import Tree, metadata
from podplan.kinds.t9k.elastic import elastic_bounds
from podplan.kinds.t9k.job import Job, Role, configured, job, launch, paused, replica_roles
from podplan.kinds.t9k.pod_group import members, pod_groups
from podplan.kinds.t9k.pods import (
    each_container,
    launched,
    pod_spec,
    pods,
    replica_labels,
    training_index,
    with_master,
)
from podplan.kinds.t9k.pytorch_training_job.elastic import elastic, shared_out
from podplan.kinds.t9k.pytorch_training_job.rendezvous import (
    Rendezvous,
    environment,
    named_port,
    rendezvous,
    rendezvous_port,
    torchrun,
    uses_torchrun,
)
from podplan.kinds.t9k.services import discovery, subdomain


def lower(cr: Cursor, options: Options) -> list[Group]:
    """The objects of a PyTorchTrainingJob (docs/evidence/t9k-pytorchtrainingjob.md): PodGroup, TensorBoard,
    Services, Pods.
    """
    training = job(cr, options)
    roles = shared_out(training, replica_roles(training))
    port = rendezvous_port(training, roles)
    lasting = [*_tensorboard(training), *discovery(training, roles, [named_port(training, port, "port")])]
    bounds = elastic_bounds(training, roles) if elastic(training) else None
    scheduling = pod_groups(training, *members(roles, elastic=bounds))
    if paused(training):
        return [*scheduling, *lasting]
    meeting = rendezvous(training, roles, port, bounds)
    running: list[Group] = []
    first_rank = 0
    for role in roles:
        running += _pods(training, meeting, port, role, first_rank)
        first_rank += role.replicas
    return [*scheduling, *lasting, *running]


def _pods(training: Job, meeting: Rendezvous, port: Marked, role: Role, first_rank: int) -> list[Group]:
    """The Pods of one role; the replica of rank 0 is a group of its own, for its label."""
    spec = _spec(training, meeting, port, role, first_rank)
    trains = training_index(training, role, behaviors.PYTORCH_TRAINING_CONTAINER)
    if first_rank == 0:
        return with_master(training, role, spec, spec, trains=trains)
    return pods(training, role, spec, labels=replica_labels(training, role), trains=trains)


def _spec(training: Job, meeting: Rendezvous, port: Marked, role: Role, first_rank: int) -> Tree:
    launching = launch(training, role.type)

    def with_environment(container: Cursor) -> Tree:
        told, written = environment(training, meeting, role, first_rank), container.get("env").entries()
        order = training.options.fact(behaviors.PYTORCH_ENV_ORDER)
        env: Any = [*told, *written] if order.value == "before" else [*written, *told]
        env = at((order, container.get("env")), env) if order.basis == CONFIGURED else env
        return {**container.fields(), "env": env}

    def trained(container: Cursor) -> Tree:
        tree = with_environment(container)
        if declared := _declared(training, port, container):
            tree["ports"] = [*container.get("ports").entries(), *declared]
        if uses_torchrun(training):
            tree["command"] = torchrun(training, meeting, role, container)
        return launched(tree, launching)

    alone = training.options.fact(behaviors.PYTORCH_ENV_CONTAINERS).value == "training"
    others = None if alone else with_environment
    chosen = configured(training, behaviors.PYTORCH_TRAINING_CONTAINER)
    trains = training_index(training, role, behaviors.PYTORCH_TRAINING_CONTAINER)
    containers = each_container(role, trains, trained, others, chosen)
    return pod_spec(training, role, containers, launching, more=subdomain(training, role))


def _declared(training: Job, port: Marked, container: Cursor) -> list[object]:
    """The rendezvous port, unless the container declares it (or its name) itself."""
    if not training.options.fact(behaviors.PYTORCH_DECLARES_PORT).value:
        return []
    declared = named_port(training, port, "containerPort")
    for written in container.get("ports").entries():
        if declared.value["name"] == written.get("name").value:
            return []
        if port.value == written.get("containerPort").value:
            return []
    return [declared]


def _tensorboard(training: Job) -> list[Group]:
    spec = training.spec.get("tensorboardSpec")
    if not spec.exists:
        return []
    tree = at(
        (spec, behaviors.TENSORBOARD),
        {
            "apiVersion": "tensorstack.dev/v1beta1",
            "kind": "TensorBoard",
            "metadata": metadata(training, training.base, kind="TensorBoard", labels=training.labels),
            "spec": spec,
        },
    )
    return [group(tree)]
