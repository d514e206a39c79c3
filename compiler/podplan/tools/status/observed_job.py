"""What is told of a job: its CR, its replicas as they were seen, and what was said besides."""

from __future__ import annotations

from podplan.core.findings import Path
from podplan.core.provenance import Fact
from podplan.core.replica_groups import Options
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import entries, mapping, number, text
from podplan.tools.status.kind_table import TABLE, Kind
from podplan.tools.status.replicas import Replica


class Observed(NamedTuple):
    """A job with all its replicas, those of rank 0 first. ``elapsed`` are the seconds since its start."""

    cr: dict[str, Any]
    kind: Kind
    replicas: tuple[Replica, ...]
    options: Options
    elapsed: int | None = None

    @property
    def name(self) -> str:
        metadata = mapping(self.cr, "metadata")
        return text(metadata, "name") or text(metadata, "generateName")


class Decision(NamedTuple):
    """Something that the controller does, or does not: a sentence without its full stop, and why.

    ``topic`` is restart, success, failure, clean-up, pause or create. ``path`` is the field of the CR that it
    rests on, () for none.
    """

    topic: str
    text: str
    fact: Fact
    replicas: tuple[Replica, ...] = ()
    path: Path = ()


def observed(
    cr: dict[str, Any], replicas: list[Replica], options: Options, elapsed: int | None = None
) -> Observed:
    """A job of one of the kinds in the table."""
    kind = cr["kind"]
    return Observed(cr, TABLE[kind], tuple(replicas), options._replace(kind=kind), elapsed)


def at(data: Any, path: Path) -> Any:
    """The value at a path of keys and indexes, None where nothing is."""
    for step in path:
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            return None
    return data


def specs(job: Observed) -> dict[str, Path]:
    """The paths of the entries that describe the replica types; of two alike, the first."""
    if job.kind.specs[-1] != "replicaSpecs":
        return {one.type: job.kind.specs for one in job.replicas}
    listed = entries(mapping(job.cr, "spec"), "replicaSpecs")
    return {text(entry, "type"): (*job.kind.specs, i) for i, entry in reversed([*listed])}


def restarted_before(job: Observed) -> dict[str, int]:
    """The restarts that each replica type has had, as far as the status of the CR and the replicas tell."""
    found = dict.fromkeys((one.type for one in job.replicas), 0)
    for _, task in entries(mapping(job.cr, "status"), "tasks"):
        if text(task, "type") in found:
            found[text(task, "type")] += max(number(task, "restartCount"), 0)
    for one in job.replicas:
        found[one.type] += one.restarts
    return found


def leader(job: Observed) -> Replica | None:
    """The replica that decides over the job alone, if one does."""
    if job.kind.leader == "first":
        return next(iter(job.replicas), None)
    return next((replica for replica in job.replicas if replica.type == job.kind.leader), None)
