"""Headless Services: a stable name for each replica before anything runs."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Fact, Marked, Why, at
from podplan.core.replica_groups import Group, group
from podplan.core.typing import Any
from podplan.kinds.common.name_patterns import filled, naming
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.child_metadata import Tree, metadata, selector
from podplan.kinds.t9k.job import Job, Role
from podplan.kinds.t9k.pods import replica_name, why_named

# The settings that have a part in how replicas call each other.
NAMING = (
    behaviors.SERVICE_HOST,
    behaviors.SERVICE_PER,
    behaviors.SERVICE_NAME,
    behaviors.SERVICE_JOB_NAME,
    behaviors.POD_NAME,
)


def discovery(job: Job, roles: list[Role], ports: Any) -> list[Group]:
    """The Services by which the replicas of a job find each other: one each, unless a setting differs."""
    per = job.options.fact(behaviors.SERVICE_PER)
    if per.value == "job":
        return [_service(job, ports, (per, job.spec), _job_service(job))]
    if per.value == "first":
        roles = [role._replace(replicas=1) for role in roles if role.replicas > 0][:1]
    return [found for role in roles for found in services(job, role, ports)]


def services(
    job: Job,
    role: Role,
    ports: Any,
    *,
    by: Fact = behaviors.SERVICE_SELECTOR,
    fact: Fact = behaviors.HEADLESS_SERVICE,
) -> list[Group]:
    """One Service per replica of a role as one group; none for no replicas."""
    if role.replicas <= 0:
        return []
    return [
        _service(job, ports, (role.where, fact), replica_name(job, role, behaviors.SERVICE_NAME), role, by)
    ]


def host(job: Job, role: Role) -> Indexed:
    """What the replicas of a role are called by others."""
    pod, service = replica_name(job, role), _service_of(job, role)
    per_job = job.options.fact(behaviors.SERVICE_PER).value == "job"
    short = filled("{pod}.{service}" if per_job else "{service}", {"pod": pod, "service": service})
    known = naming(job) | {"pod": pod, "service": service, "host": short}
    name = filled(job.options.fact(behaviors.SERVICE_HOST).value, known)
    return name if isinstance(name, Indexed) else Indexed((name or "",))


def subdomain(job: Job, role: Role) -> Tree:
    """The fields by which a Pod gets a name below the one Service of its job; none where it has its own."""
    per = job.options.fact(behaviors.SERVICE_PER)
    if per.value != "job":
        return {}
    return {
        "hostname": at((per, job.spec), replica_name(job, role)),
        "subdomain": at((per, job.spec), _job_service(job)),
    }


def _service_of(job: Job, role: Role) -> Indexed | str:
    per_job = job.options.fact(behaviors.SERVICE_PER).value == "job"
    return _job_service(job) if per_job else replica_name(job, role, behaviors.SERVICE_NAME)


def _job_service(job: Job) -> str:
    return str(filled(job.options.fact(behaviors.SERVICE_JOB_NAME).value, naming(job)))


def _service(
    job: Job,
    ports: Any,
    why: tuple[Why, ...],
    name: Indexed | str,
    role: Role | None = None,
    by: Fact = behaviors.SERVICE_SELECTOR,
) -> Group:
    type_ = role.type if role is not None else ""
    named_by = behaviors.SERVICE_NAME if role is not None else behaviors.SERVICE_JOB_NAME
    tree = at(
        why,
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata(
                job,
                name,
                kind="Service",
                type_=type_,
                labels=job.labels,
                why=why_named(job, named_by, role=role),
            ),
            "spec": {**_address(job), "selector": selector(job, by, type_, name), "ports": ports},
        },
    )
    return group(tree, type_, 0, role.replicas) if role is not None else group(tree)


def _address(job: Job) -> dict[str, Marked]:
    headless, early = (
        job.options.fact(fact) for fact in (behaviors.SERVICE_HEADLESS, behaviors.SERVICE_NOT_READY)
    )
    found = {"clusterIP": at((headless, job.spec), "None")} if headless.value else {}
    if early.value:
        found["publishNotReadyAddresses"] = at((early, job.spec), True)
    return found
