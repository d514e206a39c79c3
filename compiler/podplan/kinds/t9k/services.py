"""Headless Services: a stable DNS name for each replica before it runs."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Behavior, Cause, Traced, attribute_to
from podplan.core.replica_groups import ReplicaGroup, build_group
from podplan.core.typing import Any
from podplan.kinds.common.name_patterns import build_name_words, fill_pattern
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.child_metadata import TracedMap, build_child_metadata, build_selector
from podplan.kinds.t9k.job import JobContext, ReplicaType
from podplan.kinds.t9k.pods import build_replica_name, find_name_origins

# The options that affect the host names of replicas.
NAMING_BEHAVIORS = (
    behaviors.SERVICE_HOST,
    behaviors.SERVICE_PER,
    behaviors.SERVICE_NAME,
    behaviors.SERVICE_JOB_NAME,
    behaviors.POD_NAME,
)


def build_discovery_services(
    job: JobContext, replica_types: list[ReplicaType], ports: Any
) -> list[ReplicaGroup]:
    """Return the Services by which the replicas of a job find each other: one each, unless an option
    differs."""
    scope_behavior = job.options.resolve_behavior(behaviors.SERVICE_PER)
    if scope_behavior.value == "job":
        return [_build_service(job, ports, (scope_behavior, job.spec), _build_job_service_name(job))]
    if scope_behavior.value == "first":
        replica_types = [role._replace(replicas=1) for role in replica_types if role.replicas > 0][:1]
    return [found for role in replica_types for found in build_replica_services(job, role, ports)]


def build_replica_services(
    job: JobContext,
    replica_type: ReplicaType,
    ports: Any,
    *,
    selector_behavior: Behavior = behaviors.SERVICE_SELECTOR,
    behavior: Behavior = behaviors.SERVICE_PER_REPLICA,
) -> list[ReplicaGroup]:
    """Return one Service per replica of a replica type as one group; none for no replicas."""
    if replica_type.replicas <= 0:
        return []
    return [
        _build_service(
            job,
            ports,
            (replica_type.entry, behavior),
            build_replica_name(job, replica_type, behaviors.SERVICE_NAME),
            replica_type,
            selector_behavior,
        )
    ]


def build_worker_service(
    job: JobContext, replica_type: ReplicaType, name_behavior: Behavior, selector_behavior: Behavior
) -> ReplicaGroup:
    """Return the one Service of all replicas of a type, without ports: it only gives them names."""
    return _build_service(
        job,
        None,
        (replica_type.entry, name_behavior),
        get_service_name(job, name_behavior),
        selector_behavior=selector_behavior,
        name_behavior=name_behavior,
        type_name=replica_type.name,
    )


def get_service_name(job: JobContext, name_behavior: Behavior) -> str:
    """Return the name of a Service that is not of one replica."""
    return str(
        fill_pattern(job.options.resolve_behavior(name_behavior).value, build_name_words(job.name_words))
    )


def build_host_name(job: JobContext, replica_type: ReplicaType) -> Indexed:
    """Return the host name of the replicas of a replica type."""
    pod_name, service_name = build_replica_name(job, replica_type), _find_service_name(job, replica_type)
    has_job_service = job.options.resolve_behavior(behaviors.SERVICE_PER).value == "job"
    service_domain = fill_pattern(
        "{pod}.{service}" if has_job_service else "{service}", {"pod": pod_name, "service": service_name}
    )
    word_values = build_name_words(job.name_words) | {
        "pod": pod_name,
        "service": service_name,
        "host": service_domain,
    }
    name = fill_pattern(job.options.resolve_behavior(behaviors.SERVICE_HOST).value, word_values)
    return name if isinstance(name, Indexed) else Indexed((name or "",))


def build_subdomain_fields(job: JobContext, replica_type: ReplicaType) -> TracedMap:
    """Return the fields that give a Pod a name below the one Service of its job; empty if it has its own
    Service."""
    scope_behavior = job.options.resolve_behavior(behaviors.SERVICE_PER)
    if scope_behavior.value != "job":
        return {}
    return {
        "hostname": attribute_to((scope_behavior, job.spec), build_replica_name(job, replica_type)),
        "subdomain": attribute_to((scope_behavior, job.spec), _build_job_service_name(job)),
    }


def _find_service_name(job: JobContext, replica_type: ReplicaType) -> Indexed | str:
    has_job_service = job.options.resolve_behavior(behaviors.SERVICE_PER).value == "job"
    return (
        _build_job_service_name(job)
        if has_job_service
        else build_replica_name(job, replica_type, behaviors.SERVICE_NAME)
    )


def _build_job_service_name(job: JobContext) -> str:
    return get_service_name(job, behaviors.SERVICE_JOB_NAME)


def _build_service(
    job: JobContext,
    ports: Any,
    origins: tuple[Cause, ...],
    name: Indexed | str,
    replica_type: ReplicaType | None = None,
    selector_behavior: Behavior = behaviors.SERVICE_SELECTOR,
    *,
    name_behavior: Behavior = behaviors.SERVICE_JOB_NAME,
    type_name: str = "",
) -> ReplicaGroup:
    if replica_type is not None:
        type_name, name_behavior = replica_type.name, behaviors.SERVICE_NAME
    tree = attribute_to(
        origins,
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": build_child_metadata(
                job,
                name,
                kind="Service",
                type_name=type_name,
                labels=job.labels,
                name_origins=find_name_origins(job, name_behavior, replica_type=replica_type),
            ),
            "spec": {
                **_build_address_fields(job),
                "selector": build_selector(job, selector_behavior, type_name, name),
                **({} if ports is None else {"ports": ports}),
            },
        },
    )
    return (
        build_group(tree, type_name, 0, replica_type.replicas)
        if replica_type is not None
        else build_group(tree)
    )


def _build_address_fields(job: JobContext) -> dict[str, Traced]:
    headless, not_ready = (
        job.options.resolve_behavior(fact)
        for fact in (behaviors.SERVICE_HEADLESS, behaviors.SERVICE_NOT_READY)
    )
    address_fields = {"clusterIP": attribute_to((headless, job.spec), "None")} if headless.value else {}
    if not_ready.value:
        address_fields["publishNotReadyAddresses"] = attribute_to((not_ready, job.spec), True)
    return address_fields
