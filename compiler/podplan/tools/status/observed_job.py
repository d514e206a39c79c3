"""What is told of a job: its CR, its replicas as they were seen, and what was said besides."""

from __future__ import annotations

from podplan.core.errors import UsageError
from podplan.core.findings import Path
from podplan.core.provenance import Behavior
from podplan.core.replica_groups import LoweringOptions
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.registry import find_kind, load_spec, name_of
from podplan.kinds.spec import KindSpec, iter_replica_types
from podplan.kinds.status_rules import StatusRules
from podplan.kubernetes.accessors import get_entries, get_mapping, get_number, get_text
from podplan.tools.status.replicas import ObservedReplica


class ObservedJob(NamedTuple):
    """A job with all its replicas, those of rank 0 first. ``elapsed`` are the seconds since its start."""

    cr: dict[str, Any]
    rules: StatusRules
    kind_spec: KindSpec
    replicas: tuple[ObservedReplica, ...]
    options: LoweringOptions
    elapsed: int | None = None

    @property
    def name(self) -> str:
        metadata = get_mapping(self.cr, "metadata")
        return get_text(metadata, "name") or get_text(metadata, "generateName")


class Decision(NamedTuple):
    """Something that the controller does, or does not: a sentence without its full stop, and why.

    ``topic`` is restart, success, failure, clean-up, pause or create. ``path`` is the field of the CR that it
    rests on, () for none.
    """

    topic: str
    text: str
    behavior: Behavior
    replicas: tuple[ObservedReplica, ...] = ()
    path: Path = ()


def build_observed_job(
    cr: dict[str, Any], replicas: list[ObservedReplica], options: LoweringOptions, elapsed: int | None = None
) -> ObservedJob:
    """A job that can be lowered. Raises UsageError for a kind whose status nobody knows."""
    kind = find_kind(cr["apiVersion"], cr["kind"])
    assert kind is not None
    spec = load_spec(kind)
    if spec.load_status_rules is None:
        raise UsageError(f"podplan does not know what the controller of a {kind.kind} reports of it")
    options = options._replace(kind=name_of(kind))
    return ObservedJob(cr, spec.load_status_rules(), spec, tuple(replicas), options, elapsed)


def get_at(data: Any, path: Path) -> Any:
    """The value at a path of keys and indexes, None where nothing is."""
    for step in path:
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            return None
    return data


def find_spec_paths(job: ObservedJob) -> dict[str, Path]:
    """The paths of the entries that describe the replica types; of two alike, the first."""
    return {one.type: one.path for one in reversed([*iter_replica_types(job.kind_spec, job.cr)])}


def count_past_restarts(job: ObservedJob) -> dict[str, int]:
    """The restarts that each replica type has had, as far as the status of the CR and the replicas tell."""
    restart_counts = dict.fromkeys((one.type for one in job.replicas), 0)
    for _, task in get_entries(get_mapping(job.cr, "status"), "tasks"):
        if get_text(task, "type") in restart_counts:
            restart_counts[get_text(task, "type")] += max(get_number(task, "restartCount"), 0)
    for replica in job.replicas:
        restart_counts[replica.type] += replica.restarts
    return restart_counts


def find_leader(job: ObservedJob) -> ObservedReplica | None:
    """The replica that decides over the job alone, if one does."""
    if job.rules.leader == "first":
        return next(iter(job.replicas), None)
    return next((replica for replica in job.replicas if replica.type == job.rules.leader), None)
