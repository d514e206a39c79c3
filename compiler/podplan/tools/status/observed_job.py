"""The input of a prediction: the CR, its replicas in their states, and the options."""

from __future__ import annotations

from collections.abc import Sequence

from podplan.core.errors import UsageError
from podplan.core.findings import Path
from podplan.core.provenance import Behavior
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import add_article
from podplan.kinds.registry import find_kind, load_spec, name_of
from podplan.kinds.spec import KindSpec, iter_replica_types
from podplan.kinds.status_rules import ANY_TYPE, AnyStatusRules, EndingRules, StatusRules
from podplan.kubernetes.accessors import get_entries, get_mapping, get_number, get_text
from podplan.tools.status.replicas import ObservedReplica


class ObservedJob(NamedTuple):
    """A job with all its replicas, those of rank 0 first. ``elapsed`` are the seconds since its start.

    ``groups`` are the objects that it is lowered to, for jobs whose Jobs decide.
    """

    cr: dict[str, Any]
    status_rules: AnyStatusRules
    kind_spec: KindSpec
    replicas: tuple[ObservedReplica, ...]
    options: LoweringOptions
    elapsed: int | None = None
    groups: tuple[ReplicaGroup, ...] = ()

    @property
    def rules(self) -> StatusRules:
        """Return the rules of a controller that reports phases."""
        assert isinstance(self.status_rules, StatusRules)
        return self.status_rules

    @property
    def ending_rules(self) -> EndingRules:
        """Return the rules of a controller that reports conditions only."""
        assert isinstance(self.status_rules, EndingRules)
        return self.status_rules

    @property
    def name(self) -> str:
        metadata = get_mapping(self.cr, "metadata")
        return get_text(metadata, "name") or get_text(metadata, "generateName")


class ControllerDecision(NamedTuple):
    """An action of the controller, or its absence: a sentence without a full stop, and the reason.

    ``topic`` is restart, success, failure, clean-up, pause or create. ``path`` is the field of the CR that it
    is based on, () for none.
    """

    topic: str
    text: str
    behavior: Behavior
    replicas: tuple[ObservedReplica, ...] = ()
    path: Path = ()


def build_observed_job(
    cr: dict[str, Any],
    replicas: list[ObservedReplica],
    options: LoweringOptions,
    elapsed: int | None = None,
    groups: Sequence[ReplicaGroup] = (),
) -> ObservedJob:
    """Build a job that can be lowered. Raises UsageError: for a kind without status rules."""
    kind = find_kind(cr["apiVersion"], cr["kind"])
    assert kind is not None
    spec = load_spec(kind)
    if spec.load_status_rules is None:
        raise UsageError(
            f"podplan does not know what the controller of {add_article(kind.kind)} reports of it"
        )
    options = options._replace(kind=name_of(kind))
    rules = spec.load_status_rules()
    return ObservedJob(cr, rules, spec, tuple(replicas), options, elapsed, tuple(groups))


def get_at(data: Any, path: Path) -> Any:
    """Return the value at a path of keys and indexes, or None."""
    for step in path:
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            return None
    return data


def find_spec_paths(job: ObservedJob) -> dict[str, Path]:
    """Return the paths of the entries of the replica types; of two with the same type, the first."""
    return {one.type: one.path for one in reversed([*iter_replica_types(job.kind_spec, job.cr)])}


def count_past_restarts(job: ObservedJob) -> dict[str, int]:
    """Return the number of past restarts of each replica type, from the status of the CR and the replicas."""
    restart_counts = dict.fromkeys((one.type for one in job.replicas), 0)
    for _, task in get_entries(get_mapping(job.cr, "status"), "tasks"):
        if get_text(task, "type") in restart_counts:
            restart_counts[get_text(task, "type")] += max(get_number(task, "restartCount"), 0)
    for replica in job.replicas:
        restart_counts[replica.type] += replica.restarts
    return restart_counts


def find_leader(job: ObservedJob) -> ObservedReplica | None:
    """Return the deciding replica of the job, or None."""
    candidates = (
        replica for type_ in job.rules.leader for replica in job.replicas if type_ in (ANY_TYPE, replica.type)
    )
    return next(candidates, None)
