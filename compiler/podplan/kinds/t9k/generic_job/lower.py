"""Lowers GenericJob: Pods as written, a Service per replica on request, and variables in command, args and
env."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Cursor, attribute_to
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.spec import References
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.child_metadata import TracedMap
from podplan.kinds.t9k.generic_job import behaviors as kind_behaviors
from podplan.kinds.t9k.generic_job.variables import JobVariables, collect_variables, substitute_variables
from podplan.kinds.t9k.job import (
    JobContext,
    ReplicaType,
    build_job_context,
    is_paused,
    parse_replica_types,
    resolve_launch_overrides,
)
from podplan.kinds.t9k.pod_group import build_pod_groups, build_scheduler_labels, count_min_members
from podplan.kinds.t9k.pods import (
    REPLICA_INDEX,
    apply_launch_overrides,
    build_pod_spec,
    build_pods,
    map_containers,
)
from podplan.kinds.t9k.services import build_replica_services

_INIT_CONTAINERS = "initContainers"


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """Lower a GenericJob (docs/evidence/t9k-genericjob.md) to PodGroup, Services, Pods."""
    job = build_job_context(cr, options)
    roles = parse_replica_types(job)
    ports = job.spec.get("service", "ports")
    service_groups = [
        group
        for role in roles
        if ports.exists
        for group in build_replica_services(
            job,
            role,
            ports,
            selector_behavior=kind_behaviors.GENERIC_SELECTOR,
            behavior=kind_behaviors.GENERIC_SERVICE,
        )
    ]
    scheduling_objects = build_pod_groups(job, *count_min_members(roles))
    if is_paused(job):
        return [*scheduling_objects, *service_groups]
    job_variables = collect_variables(job, roles)
    replica_groups = [group for role in roles for group in _build_type_pods(job, role, job_variables)]
    return [*scheduling_objects, *service_groups, *replica_groups]


def _build_type_pods(
    job: JobContext, replica_type: ReplicaType, job_variables: JobVariables
) -> list[ReplicaGroup]:
    launch_overrides = resolve_launch_overrides(job, replica_type.name)
    containers = map_containers(
        replica_type,
        None if job.spec.get("runMode", "debug", "enabled").value is True else 0,
        lambda container: substitute_variables(
            job_variables, replica_type, apply_launch_overrides(container.fields(), launch_overrides)
        ),
        lambda container: substitute_variables(job_variables, replica_type, dict(container.fields())),
    )
    labels: TracedMap = {
        **job.labels,
        "genericjob": attribute_to((kind_behaviors.GENERIC_LABELS, *job.name_origins), job.name),
        "genericjob-replica": attribute_to(
            (kind_behaviors.GENERIC_LABELS, replica_type.entry), _build_replica_label(job, replica_type)
        ),
        **build_scheduler_labels(job),
    }
    spec = build_pod_spec(
        job,
        replica_type,
        containers,
        launch_overrides,
        restart_behavior=behaviors.RESTART_NEVER_ASSUMED,
        extra_fields=_replace_init_containers(job, replica_type, job_variables),
    )
    return build_pods(job, replica_type, spec, labels=labels)


def _replace_init_containers(
    job: JobContext, replica_type: ReplicaType, job_variables: JobVariables
) -> TracedMap:
    """Substitute the variables in the init containers of a replica type, if the configuration enables it."""
    behavior, init_containers = (
        job.options.resolve_behavior(kind_behaviors.GENERIC_INIT_SUBSTITUTION),
        replica_type.template.get("spec", _INIT_CONTAINERS),
    )
    if not behavior.value or not init_containers.exists:
        return {}
    replaced = [
        attribute_to(container, substitute_variables(job_variables, replica_type, dict(container.fields())))
        for container in init_containers.entries()
    ]
    return {_INIT_CONTAINERS: attribute_to((init_containers, behavior), replaced)}


def _build_replica_label(job: JobContext, replica_type: ReplicaType) -> Indexed:
    return Indexed((f"{job.name}-{replica_type.name}-", REPLICA_INDEX))
