"""GenericJob: Pods as written, a Service per replica on request, and variables in command, args and env."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Cursor, at
from podplan.core.replica_groups import Group, Options
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.child_metadata import Tree
from podplan.kinds.t9k.generic_job.variables import Variables, substituted, variables
from podplan.kinds.t9k.job import Job, Role, job, launch, paused, replica_roles
from podplan.kinds.t9k.pod_group import members, pod_groups, scheduler_labels
from podplan.kinds.t9k.pods import REPLICA_INDEX, each_container, launched, pod_spec, pods
from podplan.kinds.t9k.services import services

_INIT = "initContainers"


def lower(cr: Cursor, options: Options) -> list[Group]:
    """The objects of a GenericJob (docs/evidence/t9k-genericjob.md): PodGroup, Services, Pods."""
    generic = job(cr, options)
    roles = replica_roles(generic)
    ports = generic.spec.get("service", "ports")
    exposed = [
        group
        for role in roles
        if ports.exists
        for group in services(
            generic, role, ports, by=behaviors.GENERIC_SELECTOR, fact=behaviors.GENERIC_SERVICE
        )
    ]
    scheduling = pod_groups(generic, *members(roles))
    if paused(generic):
        return [*scheduling, *exposed]
    known = variables(generic, roles)
    running = [group for role in roles for group in _pods(generic, role, known)]
    return [*scheduling, *exposed, *running]


def _pods(generic: Job, role: Role, known: Variables) -> list[Group]:
    launching = launch(generic, role.type)
    containers = each_container(
        role,
        None if generic.spec.get("runMode", "debug", "enabled").value is True else 0,
        lambda container: substituted(known, role, launched(container.fields(), launching)),
        lambda container: substituted(known, role, dict(container.fields())),
    )
    labels: Tree = {
        **generic.labels,
        "genericjob": at((behaviors.GENERIC_LABELS, *generic.name_why), generic.name),
        "genericjob-replica": at((behaviors.GENERIC_LABELS, role.where), _replica_label(generic, role)),
        **scheduler_labels(generic),
    }
    spec = pod_spec(
        generic,
        role,
        containers,
        launching,
        never=behaviors.RESTART_NEVER_ASSUMED,
        more=_init_containers(generic, role, known),
    )
    return pods(generic, role, spec, labels=labels)


def _init_containers(generic: Job, role: Role, known: Variables) -> Tree:
    """The init containers of a role with their variables replaced, where the configuration says so."""
    fact, written = (
        generic.options.fact(behaviors.GENERIC_INIT_SUBSTITUTION),
        role.template.get("spec", _INIT),
    )
    if not fact.value or not written.exists:
        return {}
    replaced = [
        at(container, substituted(known, role, dict(container.fields()))) for container in written.entries()
    ]
    return {_INIT: at((written, fact), replaced)}


def _replica_label(generic: Job, role: Role) -> Indexed:
    return Indexed((f"{generic.name}-{role.type}-", REPLICA_INDEX))
