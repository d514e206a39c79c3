"""The container of a CR that trains, chosen as the controller does it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.lint.analysis.jobs import Role, find_kind_spec, kind_of, roles
from podplan.lint.target import Job


class Written(NamedTuple):
    """A container as the CR has it, or the launcher of a ColossalAIJob, which is one without a template."""

    path: Path
    data: Mapping[str, Any]


def containers(role: Role, field: str = "containers") -> list[Written]:
    """The containers of a role, or what it has in another list of them."""
    if role.path == ("spec", "launcher"):
        return [Written(role.path, role.data)] if field == "containers" else []
    spec = mapping(mapping(role.data, "template"), "spec")
    path = (*role.path, "template", "spec", field)
    return [Written((*path, number), entry) for number, entry in entries(spec, field)]


def preferred(job: Job) -> str:
    """The name by which the controller looks for the training container; "" for kinds that have none."""
    kind = find_kind_spec(job)
    fact = kind.training_container if kind is not None else None
    return str(fact.value) if fact else ""


def training(job: Job, role: Role) -> Written | None:
    """The training container of a role: the one of the name, else the first; of a launcher, its own."""
    listed = containers(role)
    name = "launcher" if role.type == "launcher" and kind_of(job) == "ColossalAIJob" else preferred(job)
    named = (found for found in listed if name and text(found.data, "name") == name)
    return next(named, listed[0] if listed else None)


def role_called(job: Job, type_: str) -> Role | None:
    return next((role for role in roles(job) if role.type == type_), None)


def env(container: Mapping[str, Any]) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """The variables of a container: index, name and entry."""
    for number, entry in entries(container, "env"):
        name = text(entry, "name")
        if name:
            yield number, name, entry
