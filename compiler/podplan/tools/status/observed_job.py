"""What is told of a job: its CR, its replicas as they were seen, and what was said besides."""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.core.provenance import Behavior
from podplan.core.replica_groups import LoweringOptions
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_number, get_text
from podplan.tools.status.kind_table import STATUS_RULES, KindStatusRules
from podplan.tools.status.replicas import ObservedReplica


class ObservedJob(NamedTuple):
    """A job with all its replicas, those of rank 0 first. ``elapsed`` are the seconds since its start."""

    cr: dict[str, Any]
    rules: KindStatusRules
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
    """A job of one of the kinds in the table."""
    kind = cr["kind"]
    return ObservedJob(cr, STATUS_RULES[kind], tuple(replicas), options._replace(kind=kind), elapsed)


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
    if job.rules.specs_path[-1] != "replicaSpecs":
        return {one.type: job.rules.specs_path for one in job.replicas}
    spec_entries = get_entries(get_mapping(job.cr, "spec"), "replicaSpecs")
    return {get_text(entry, "type"): (*job.rules.specs_path, i) for i, entry in reversed([*spec_entries])}


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
