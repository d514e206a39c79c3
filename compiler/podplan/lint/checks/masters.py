"""The replica that decides over a job, and the container name that the controller requires.

Sources: docs/evidence/t9k-tensorflowtrainingjob.md#master,
docs/evidence/t9k-xgboosttrainingjob.md#master-replica,
docs/evidence/training-operator.md#end-of-a-job.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_text
from podplan.lint.analysis.jobs import find_kind_spec, get_replica_specs, has_trait
from podplan.lint.analysis.training import get_preferred_container_name, list_written_containers
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_PARAMETER_SERVER, _WORKER = "ps", "Worker"


@check()
def unrecognized_container(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A replica type without a container of the name that the controller needs; ``name``, ``names``."""
    name = get_preferred_container_name(target.job)
    for replica_spec in get_replica_specs(target.job):
        written = list_written_containers(replica_spec)
        names = [get_text(container.data, "name") for container in written]
        if names and all(names) and name not in names:
            values = {"type": replica_spec.type, "name": name, "names": " and ".join(names)}
            yield Violation((*written[0].path, "name"), values)


@check()
def no_deciding_replica(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """No replica of a type that decides over the job; value ``types``."""
    kind_spec, replica_specs = find_kind_spec(target.job), get_replica_specs(target.job)
    if kind_spec is None or not replica_specs:
        return
    # Where the main types are not all that decide, worker 0 does so without them.
    names = [*kind_spec.main_replica_types, *(one for one in kind_spec.known_replica_types if one == _WORKER)]
    lower_names = [name.lower() for name in names]
    deciding = [one for one in replica_specs if one.type.lower() in lower_names]
    may_be_empty = has_trait(target.job, "succeeds-without-main")
    if not any(may_be_empty or _has_replicas(one.data) for one in deciding):
        types = f"{', '.join(names[:-1])} or {names[-1]}"
        yield Violation(replica_specs[0].path[:-1], {"types": types})


@check()
def servers_without_chief(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Parameter servers and workers without a chief, where worker 0 decides over the job; value ``main``."""
    kind_spec, replica_specs = find_kind_spec(target.job), get_replica_specs(target.job)
    main_types = kind_spec.main_replica_types if kind_spec is not None else ()
    types = {one.type for one in replica_specs if _has_replicas(one.data)}
    if _PARAMETER_SERVER in types and not types.isdisjoint(main_types) and main_types[0] not in types:
        entry = next(one for one in replica_specs if one.type == _PARAMETER_SERVER)
        yield Violation(entry.path, {"main": main_types[0]})


@check()
def several_deciding_replicas(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Several replicas of the type that has rank 0. Values ``type``, ``replicas``."""
    kind_spec = find_kind_spec(target.job)
    main_types = kind_spec.main_replica_types if kind_spec is not None else ()
    for replica_spec in get_replica_specs(target.job):
        replicas = replica_spec.data.get("replicas")
        if replica_spec.type in main_types and isinstance(replicas, int) and replicas > 1:
            values = {"type": replica_spec.type, "replicas": replicas}
            yield Violation((*replica_spec.path, "replicas"), values)


def _has_replicas(replica_spec: Mapping[str, Any]) -> bool:
    return bool(replica_spec.get("replicas", 1) != 0)
