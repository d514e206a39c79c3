"""Headless Services: a stable name for each replica before anything runs."""

from __future__ import annotations

from podplan import facts
from podplan.groups import Group, group
from podplan.kinds._children import Tree, metadata, selector
from podplan.kinds._job import Job, Role
from podplan.kinds._patterns import filled, naming
from podplan.kinds._pods import replica_name, why_named
from podplan.provenance import Fact, Marked, Why, at
from podplan.typing import Any
from podplan.varying import Indexed

# The settings that have a part in how replicas call each other.
NAMING = (facts.SERVICE_HOST, facts.SERVICE_PER, facts.SERVICE_NAME, facts.SERVICE_JOB_NAME, facts.POD_NAME)


def discovery(job: Job, roles: list[Role], ports: Any) -> list[Group]:
    """The Services by which the replicas of a job find each other: one each, unless a setting differs."""
    per = job.options.fact(facts.SERVICE_PER)
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
    by: Fact = facts.SERVICE_SELECTOR,
    fact: Fact = facts.HEADLESS_SERVICE,
) -> list[Group]:
    """One Service per replica of a role as one group; none for no replicas."""
    if role.replicas <= 0:
        return []
    return [_service(job, ports, (role.where, fact), replica_name(job, role, facts.SERVICE_NAME), role, by)]


def host(job: Job, role: Role) -> Indexed:
    """What the replicas of a role are called by others."""
    pod, service = replica_name(job, role), _service_of(job, role)
    per_job = job.options.fact(facts.SERVICE_PER).value == "job"
    short = filled("{pod}.{service}" if per_job else "{service}", {"pod": pod, "service": service})
    known = naming(job) | {"pod": pod, "service": service, "host": short}
    name = filled(job.options.fact(facts.SERVICE_HOST).value, known)
    return name if isinstance(name, Indexed) else Indexed((name or "",))


def subdomain(job: Job, role: Role) -> Tree:
    """The fields by which a Pod gets a name below the one Service of its job; none where it has its own."""
    per = job.options.fact(facts.SERVICE_PER)
    if per.value != "job":
        return {}
    return {
        "hostname": at((per, job.spec), replica_name(job, role)),
        "subdomain": at((per, job.spec), _job_service(job)),
    }


def _service_of(job: Job, role: Role) -> Indexed | str:
    per_job = job.options.fact(facts.SERVICE_PER).value == "job"
    return _job_service(job) if per_job else replica_name(job, role, facts.SERVICE_NAME)


def _job_service(job: Job) -> str:
    return str(filled(job.options.fact(facts.SERVICE_JOB_NAME).value, naming(job)))


def _service(
    job: Job,
    ports: Any,
    why: tuple[Why, ...],
    name: Indexed | str,
    role: Role | None = None,
    by: Fact = facts.SERVICE_SELECTOR,
) -> Group:
    type_ = role.type if role is not None else ""
    named_by = facts.SERVICE_NAME if role is not None else facts.SERVICE_JOB_NAME
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
    headless, early = (job.options.fact(fact) for fact in (facts.SERVICE_HEADLESS, facts.SERVICE_NOT_READY))
    found = {"clusterIP": at((headless, job.spec), "None")} if headless.value else {}
    if early.value:
        found["publishNotReadyAddresses"] = at((early, job.spec), True)
    return found
