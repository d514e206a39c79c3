"""Pods of a replica type: metadata, labels, and the template with the fields that the controller sets."""

from __future__ import annotations

from collections.abc import Callable

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Behavior, Cause, Cursor, attribute_to, copy_traced
from podplan.core.replica_groups import CONFIGURED_BASIS, ReplicaGroup, build_group
from podplan.core.typing import Any
from podplan.kinds.common.field_order import order_container_fields, order_pod_fields
from podplan.kinds.common.name_patterns import INDEX_TEXT, build_name_words, fill_pattern
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.child_metadata import TracedMap, build_child_metadata, record_replaced
from podplan.kinds.t9k.job import JobContext, LaunchOverrides, ReplicaType
from podplan.kinds.t9k.pod_group import build_scheduler_labels, is_gang_scheduled
from podplan.kubernetes import names

REPLICA_INDEX = 0  # the index itself, as a part of an Indexed text


def build_pods(
    job: JobContext,
    replica_type: ReplicaType,
    spec: TracedMap,
    *,
    labels: TracedMap,
    first_index: int = 0,
    replicas: int | None = None,
    name: Indexed | str | None = None,
    name_origins: tuple[Cause, ...] | None = None,
    training_index: int = 0,
) -> list[ReplicaGroup]:
    """Build the Pods from ``first_index`` on as one group; an empty list if there are none.

    ``name`` with ``name_origins`` replaces the usual name of replicas; ``training_index`` is the index of the
    training container.
    """
    count = replica_type.replicas if replicas is None else replicas
    if count <= 0:
        return []
    pod_name = build_replica_name(job, replica_type) if name is None else name
    configured_behaviors = (
        why
        for why in replica_type.replica_origins
        if isinstance(why, Behavior) and why.basis == CONFIGURED_BASIS
    )
    tree = attribute_to(
        (replica_type.entry, next(configured_behaviors, behaviors.POD_PER_REPLICA)),
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": build_child_metadata(
                job,
                pod_name,
                kind="Pod",
                type_name=replica_type.name,
                template=replica_type.template.get("metadata"),
                labels=labels,
                name_origins=find_name_origins(job, behaviors.POD_NAME, replica_type=replica_type)
                if name is None
                else name_origins,
            ),
            "spec": spec,
        },
    )
    return [
        build_group(tree, replica_type.name, first_index, count)._replace(
            training_container_index=training_index
        )
    ]


def build_pods_with_master(
    job: JobContext,
    replica_type: ReplicaType,
    master_spec: TracedMap,
    other_spec: TracedMap,
    *,
    training_index: int,
) -> list[ReplicaGroup]:
    """Build the Pods of a replica type whose first is the master: a separate group, because of its label."""
    labels = build_replica_labels(job, replica_type)
    master_labels = {
        **labels,
        "job-role": attribute_to((behaviors.MASTER_LABEL, replica_type.entry), "master"),
    }
    return [
        *build_pods(
            job,
            replica_type,
            master_spec,
            labels=master_labels,
            replicas=min(1, replica_type.replicas),
            training_index=training_index,
        ),
        *build_pods(
            job,
            replica_type,
            other_spec,
            labels=labels,
            first_index=1,
            replicas=replica_type.replicas - 1,
            training_index=training_index,
        ),
    ]


def build_replica_name(
    job: JobContext, replica_type: ReplicaType, behavior: Behavior = behaviors.POD_NAME
) -> Indexed:
    """Return ``<base>-<type>-<index>``, or the configured value of ``behavior``; it always contains the
    index."""
    name = fill_pattern(
        job.options.resolve_behavior(behavior).value,
        build_name_words(job.name_words, replica_type.name, index=INDEX_TEXT),
    )
    assert isinstance(name, Indexed)
    return name


def find_name_origins(
    job: JobContext, *name_behaviors: Behavior, replica_type: ReplicaType | None = None
) -> tuple[Cause, ...]:
    """Return the origins of a name: the base name, or the configured options.

    A replica type that is invalid in names comes first: it is the place to edit.
    """
    combined_behavior = job.options.first_configured(*name_behaviors)
    name_origins = (
        (*job.name_origins, combined_behavior)
        if combined_behavior.basis == CONFIGURED_BASIS
        else job.base_name_origins
    )
    if (
        replica_type is not None
        and replica_type.name
        and not names.matches_form("dns-label", replica_type.name)
    ):
        return (replica_type.entry.get("type"), *name_origins)
    return name_origins


def build_replica_labels(
    job: JobContext, replica_type: ReplicaType, behavior: Behavior = behaviors.REPLICA_LABELS
) -> TracedMap:
    """Build the labels of a replica of the kinds that number their replicas by label."""
    return {
        **job.labels,
        "replica-type": attribute_to((behavior, replica_type.entry), replica_type.name),
        "replica-index": attribute_to((behavior, replica_type.entry), Indexed((REPLICA_INDEX,))),
        **build_scheduler_labels(job, replica_type.name),
    }


def build_pod_spec(
    job: JobContext,
    replica_type: ReplicaType,
    containers: list[Any],
    launch_overrides: LaunchOverrides,
    *,
    restart_behavior: Behavior = behaviors.RESTART_NEVER,
    volumes: list[Any] | None = None,
    extra_fields: TracedMap | None = None,
) -> TracedMap:
    """Build the spec of the template with containers, restart policy and scheduler as the controller sets
    them.

    ``extra_fields`` are further fields that the controller sets.
    """
    template_spec = replica_type.template.get("spec")
    tree: TracedMap = {**template_spec.fields(), **(extra_fields or {}), "containers": containers}
    if not launch_overrides.keep_init_containers:
        tree.pop("initContainers", None)
    if volumes:
        tree["volumes"] = [*template_spec.get("volumes").entries(), *volumes]
    policy = template_spec.get("restartPolicy")
    restart_behavior = job.options.resolve_behavior(restart_behavior)
    tree["restartPolicy"] = attribute_to(restart_behavior, restart_behavior.value, overridden=(policy,))
    if is_gang_scheduled(job):
        tree["schedulerName"] = attribute_to(
            (job.options.resolve_behavior(behaviors.SCHEDULER_NAME), job.spec.get("scheduler")),
            job.options.resolve_behavior(behaviors.SCHEDULER_NAME).value,
            overridden=(template_spec.get("schedulerName"),),
        )
    return order_pod_fields(tree)


def find_training_index(job: JobContext, replica_type: ReplicaType, behavior: Behavior) -> int:
    """Return the index of the training container: the one with the name in ``behavior``, else the first."""
    containers, preferred_name = (
        replica_type.template.get("spec", "containers").entries(),
        job.options.resolve_behavior(behavior).value,
    )
    return next((i for i, c in enumerate(containers) if c.get("name").value == preferred_name), 0)


def find_training_container(job: JobContext, replica_type: ReplicaType, behavior: Behavior) -> Cursor:
    """Return the training container of the template."""
    return replica_type.template.get("spec", "containers").get(
        find_training_index(job, replica_type, behavior)
    )


def map_containers(
    replica_type: ReplicaType,
    training_index: int | None,
    build_training: Callable[[Cursor], TracedMap],
    build_other: Callable[[Cursor], TracedMap] | None = None,
    choice_behavior: Behavior | None = None,
) -> list[Any]:
    """Build the containers of a replica type.

    ``build_training`` builds the training container (all containers if ``training_index`` is None), and
    ``build_other`` the others. ``choice_behavior`` states which is the training container.
    """
    build_rest = build_other or (lambda container: container.fields())
    return [
        attribute_to(
            (container, choice_behavior)
            if choice_behavior is not None and i == training_index
            else container,
            made(container),
        )
        for i, container in enumerate(replica_type.template.get("spec", "containers").entries())
        for made in [build_training if training_index is None or i == training_index else build_rest]
    ]


def apply_launch_overrides(container: TracedMap, launch_overrides: LaunchOverrides) -> TracedMap:
    """Return ``container`` with the command and args of a run mode, if that sets any."""
    tree = dict(container)
    command, args = tree.get("command"), tree.get("args")
    if not launch_overrides.keep_args:
        tree.pop("args", None)
    elif launch_overrides.kept_args_behavior is not None and isinstance(args, Cursor):
        tree["args"] = copy_traced(args, behavior=launch_overrides.kept_args_behavior)
    if launch_overrides.command is not None:
        tree["command"] = record_replaced(
            launch_overrides.command, command, None if launch_overrides.keep_args else args
        )
    if launch_overrides.args is not None:
        tree["args"] = record_replaced(launch_overrides.args, args)
    return order_container_fields(tree)
