"""Pods of a role: metadata, labels, and the template with what the controller lays over it."""

from __future__ import annotations

from collections.abc import Callable

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Cursor, Fact, Why, at, copied
from podplan.core.replica_groups import CONFIGURED, Group, group
from podplan.core.typing import Any
from podplan.kinds.common.field_order import container_in_order, pod_in_order
from podplan.kinds.common.name_patterns import INDEX, filled, naming
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.child_metadata import Tree, metadata, replacing
from podplan.kinds.t9k.job import Job, Launch, Role
from podplan.kinds.t9k.pod_group import scheduled, scheduler_labels
from podplan.kubernetes import names

REPLICA_INDEX = 0  # as a part of an Indexed text: the index itself


def pods(
    job: Job,
    role: Role,
    spec: Tree,
    *,
    labels: Tree,
    start: int = 0,
    replicas: int | None = None,
    name: Indexed | str | None = None,
    why: tuple[Why, ...] | None = None,
    trains: int = 0,
) -> list[Group]:
    """The Pods ``start`` and on of a role, as one group; an empty list where there are none.

    ``name`` is what they are called if not as replicas are, for ``why``; ``trains`` is the index of the
    training container.
    """
    count = role.replicas if replicas is None else replicas
    if count <= 0:
        return []
    called = replica_name(job, role) if name is None else name
    set_by = (why for why in role.counted if isinstance(why, Fact) and why.basis == CONFIGURED)
    tree = at(
        (role.where, next(set_by, behaviors.POD_PER_REPLICA)),
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata(
                job,
                called,
                kind="Pod",
                type_=role.type,
                template=role.template.get("metadata"),
                labels=labels,
                why=why_named(job, behaviors.POD_NAME, role=role) if name is None else why,
            ),
            "spec": spec,
        },
    )
    return [group(tree, role.type, start, count)._replace(training=trains)]


def with_master(job: Job, role: Role, master: Tree, others: Tree, *, trains: int) -> list[Group]:
    """The Pods of a role of which the first is the master: a group of its own, for its label."""
    labels = replica_labels(job, role)
    first = {**labels, "job-role": at((behaviors.MASTER_LABEL, role.where), "master")}
    return [
        *pods(job, role, master, labels=first, replicas=min(1, role.replicas), trains=trains),
        *pods(job, role, others, labels=labels, start=1, replicas=role.replicas - 1, trains=trains),
    ]


def replica_name(job: Job, role: Role, fact: Fact = behaviors.POD_NAME) -> Indexed:
    """``<base>-<type>-<index>``, or what ``fact`` is configured to be; it always has the index."""
    name = filled(job.options.fact(fact).value, naming(job, role.type, index=INDEX))
    assert isinstance(name, Indexed)
    return name


def why_named(job: Job, *named: Fact, role: Role | None = None) -> tuple[Why, ...]:
    """Where a name comes from: the base name, unless a setting says how things are called.

    A replica type that no name may contain comes first: it is the place to edit.
    """
    told = job.options.told(*named)
    why = (*job.name_why, told) if told.basis == CONFIGURED else job.base_why
    if role is not None and role.type and not names.fits("dns-label", role.type):
        return (role.where.get("type"), *why)
    return why


def replica_labels(job: Job, role: Role, fact: Fact = behaviors.REPLICA_LABELS) -> Tree:
    """The labels of a replica of the kinds that number their replicas by label."""
    return {
        **job.labels,
        "replica-type": at((fact, role.where), role.type),
        "replica-index": at((fact, role.where), Indexed((REPLICA_INDEX,))),
        **scheduler_labels(job, role.type),
    }


def pod_spec(
    job: Job,
    role: Role,
    containers: list[Any],
    launch: Launch,
    *,
    never: Fact = behaviors.RESTART_NEVER,
    volumes: list[Any] | None = None,
    more: Tree | None = None,
) -> Tree:
    """The spec of the template with containers, restart policy and scheduler as the controller sets them.

    ``more`` are further fields that the controller sets.
    """
    spec = role.template.get("spec")
    tree: Tree = {**spec.fields(), **(more or {}), "containers": containers}
    if not launch.keep_init:
        tree.pop("initContainers", None)
    if volumes:
        tree["volumes"] = [*spec.get("volumes").entries(), *volumes]
    policy = spec.get("restartPolicy")
    never = job.options.fact(never)
    tree["restartPolicy"] = at(never, never.value, over=(policy,))
    if scheduled(job):
        tree["schedulerName"] = at(
            (job.options.fact(behaviors.SCHEDULER_NAME), job.spec.get("scheduler")),
            job.options.fact(behaviors.SCHEDULER_NAME).value,
            over=(spec.get("schedulerName"),),
        )
    return pod_in_order(tree)


def training_index(job: Job, role: Role, fact: Fact) -> int:
    """The index of the training container: the one that is called as ``fact`` says, else the first."""
    containers, preferred = role.template.get("spec", "containers").entries(), job.options.fact(fact).value
    return next((i for i, c in enumerate(containers) if c.get("name").value == preferred), 0)


def training_container(job: Job, role: Role, fact: Fact) -> Cursor:
    """The training container as the template has it."""
    return role.template.get("spec", "containers").get(training_index(job, role, fact))


def each_container(
    role: Role,
    training: int | None,
    change: Callable[[Cursor], Tree],
    others: Callable[[Cursor], Tree] | None = None,
    chosen: Fact | None = None,
) -> list[Any]:
    """The containers of a role: ``change`` makes the training one (all, for None), ``others`` the rest.

    ``chosen`` says which is the training one.
    """
    keep = others or (lambda container: container.fields())
    return [
        at((container, chosen) if chosen is not None and i == training else container, made(container))
        for i, container in enumerate(role.template.get("spec", "containers").entries())
        for made in [change if training is None or i == training else keep]
    ]


def launched(container: Tree, launch: Launch) -> Tree:
    """``container`` with the command and args of a run mode, where it has any."""
    tree = dict(container)
    command, args = tree.get("command"), tree.get("args")
    if not launch.keep_args:
        tree.pop("args", None)
    elif launch.kept is not None and isinstance(args, Cursor):
        tree["args"] = copied(args, fact=launch.kept)
    if launch.command is not None:
        tree["command"] = replacing(launch.command, command, None if launch.keep_args else args)
    if launch.args is not None:
        tree["args"] = replacing(launch.args, args)
    return container_in_order(tree)
