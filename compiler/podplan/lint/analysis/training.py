"""The training container of a CR, selected as the controller does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.jobs import ReplicaSpec, find_kind_spec, get_replica_specs, has_trait, spec_of
from podplan.lint.target import LoweredJob


class WrittenContainer(NamedTuple):
    """A container in the CR, or the launcher of a ColossalAIJob, which has no Pod template."""

    path: Path
    data: Mapping[str, Any]


def list_written_containers(replica_spec: ReplicaSpec, field: str = "containers") -> list[WrittenContainer]:
    """Return the containers of a replica type, or those of another list, such as init containers."""
    if replica_spec.path == ("spec", "launcher"):
        return [WrittenContainer(replica_spec.path, replica_spec.data)] if field == "containers" else []
    spec = get_mapping(get_mapping(replica_spec.data, "template"), "spec")
    path = (*replica_spec.path, "template", "spec", field)
    return [WrittenContainer((*path, number), entry) for number, entry in get_entries(spec, field)]


def get_preferred_container_name(job: LoweredJob) -> str:
    """Return the name by which the controller selects the training container, or ""."""
    kind = find_kind_spec(job)
    by_field = kind.training_container_by_field if kind is not None else {}
    fact = next((one for field, one in by_field.items() if field in spec_of(job)), None)
    fact = fact or (kind.training_container if kind is not None else None)
    return str(fact.value) if fact else ""


def find_launcher_container_name(job: LoweredJob) -> str:
    """Return the name by which the controller selects the container of the launcher, or ""."""
    kind_spec = find_kind_spec(job)
    behavior = kind_spec.launcher_container if kind_spec is not None else None
    return str(behavior.value) if behavior else ""


def find_written_training_container(job: LoweredJob, replica_spec: ReplicaSpec) -> WrittenContainer | None:
    """Return the training container of a replica type: by name, else the first; for a launcher, its own."""
    written_containers = list_written_containers(replica_spec)
    is_launcher = replica_spec.type == "launcher" and has_trait(job, "launcher-replica")
    name = find_launcher_container_name(job) if is_launcher else get_preferred_container_name(job)
    matching = (found for found in written_containers if name and get_text(found.data, "name") == name)
    return next(matching, written_containers[0] if written_containers else None)


def find_replica_spec(job: LoweredJob, type_: str) -> ReplicaSpec | None:
    return next((role for role in get_replica_specs(job) if role.type == type_), None)


def iter_env(container: Mapping[str, Any]) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Yield the variables of a container: index, name and entry."""
    for number, entry in get_entries(container, "env"):
        name = get_text(entry, "name")
        if name:
            yield number, name, entry
