"""The replicas of a job and their states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from podplan.core.limits import MAX_EXPANDED_REPLICAS, LimitExceeded, limit_exceeded
from podplan.core.replica_groups import ReplicaGroup, build_at_index, find_name_path, find_name_text
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text

# As in status.tasks: the phases of a Pod, and two of the controller
# (docs/evidence/t9k-common.md#task-status).
REPLICA_PHASES = ("Creating", "Pending", "Running", "Succeeded", "Failed", "Unknown", "Deleted")
ENDED_PHASES = ("Succeeded", "Failed")
NOT_STARTED_PHASES = ("Creating", "Pending")

# Labels of the Pods of a Job.
_JOB_LABEL, _INDEX_LABEL = "batch.kubernetes.io/job-name", "batch.kubernetes.io/job-completion-index"
MAX_NAMED_RUNS = 6  # runs of replicas in one sentence
_SIGNAL_BY_EXIT_CODE = {
    129: "SIGHUP",
    130: "SIGINT",
    132: "SIGILL",
    134: "SIGABRT",
    135: "SIGBUS",
    136: "SIGFPE",
}
_SIGNAL_BY_EXIT_CODE |= {137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM"}


class ContainerState(NamedTuple):
    """One container of a Pod: Waiting, Running or Terminated, then with ``exit_code`` and ``reason``."""

    name: str
    state: str
    exit_code: int | None = None
    reason: str = ""


class ObservedReplica(NamedTuple):
    """One replica with its Pod.

    ``name`` is that of the Pod, and ``short_name`` the one in the job, such as worker-3 or launcher.
    ``exit_code`` is that of a failed Pod, None if it is unknown, and ``reason`` a word for it such as
    OOMKilled. ``restarts`` are its declared past restarts. ``is_declared`` is false if its state is assumed.
    ``job_name`` is the Job that the Pod belongs to, if any, and ``completion_index`` its index there.
    """

    type: str
    rank: int
    name: str
    short_name: str
    phase: str
    exit_code: int | None = None
    reason: str = ""
    containers: tuple[ContainerState, ...] = ()
    uid: str = ""
    restarts: int = 0
    is_declared: bool = False
    job_name: str = ""
    completion_index: int = 0

    @property
    def has_ended(self) -> bool:
        return self.phase in ENDED_PHASES


def list_replicas(groups: Iterable[ReplicaGroup], phase: str) -> list[ObservedReplica]:
    """Return the replicas of lowered Pods, in the order of the types and ranks, all in ``phase``.

    Raises LimitExceeded: for more than ``MAX_EXPANDED_REPLICAS``.
    """
    pods = [group for group in groups if group.doc.data["kind"] == "Pod"]
    replica_count = sum(group.replicas for group in pods)
    if replica_count > MAX_EXPANDED_REPLICAS:
        most = MAX_EXPANDED_REPLICAS
        message = f"the job has {replica_count} replicas, and a status lists at most {most}"
        raise LimitExceeded(limit_exceeded("replicas", message))
    replicas = [replica for group in pods for replica in _expand_group(group, phase)]
    return _renumber_replicas(replicas) if any(one.job_name for one in replicas) else replicas


def _renumber_replicas(replicas: list[ObservedReplica]) -> list[ObservedReplica]:
    """The replicas of Jobs by Job and index: a type may have several groups, each counted from 0."""
    count_by_type: dict[str, int] = {}
    types = list(dict.fromkeys(one.type for one in replicas))
    result = []
    for one in sorted(
        replicas, key=lambda one: (types.index(one.type), _split_number(one.job_name), one.completion_index)
    ):
        rank = count_by_type.get(one.type, 0)
        count_by_type[one.type] = rank + 1
        name = f"{one.type.lower()}-{rank}" if one.job_name else one.short_name
        result.append(one._replace(rank=rank if one.job_name else one.rank, short_name=name))
    return [
        one._replace(short_name=one.type.lower()) if one.job_name and count_by_type[one.type] == 1 else one
        for one in result
    ]


def _split_number(name: str) -> tuple[str, int]:
    """A name without the number at its end, and the number."""
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :] or 0)


def _expand_group(group: ReplicaGroup, phase: str) -> list[ObservedReplica]:
    varies = find_name_text(group.doc) is not None
    name_key = find_name_path(group.doc)[-1]
    indexes = range(group.start, group.start + group.replicas)
    label = group.replica_type.lower()  # as in the names of Pods
    replicas = []
    for index in indexes:
        metadata = build_at_index(group.doc, index)["metadata"]
        labels = get_mapping(metadata, "labels")
        replicas.append(
            ObservedReplica(
                group.replica_type,
                index,
                metadata[name_key],
                f"{label}-{index}" if varies else label,
                phase,
                containers=build_container_states(group, phase),
                job_name=get_text(labels, _JOB_LABEL),
                completion_index=int(get_text(labels, _INDEX_LABEL) or 0),
            )
        )
    return replicas


def find_training_name(group: ReplicaGroup) -> str:
    """Return the name of the training container of a Pod."""
    container_by_index = dict(_list_containers(group))
    return get_text(container_by_index.get(group.training_container_index or 0, {}), "name")


def _list_containers(group: ReplicaGroup) -> list[tuple[int, dict[str, Any]]]:
    return get_entries(get_mapping(group.doc.data, "spec"), "containers")


def build_container_states(
    group: ReplicaGroup, phase: str, exit_code: int | None = None
) -> tuple[ContainerState, ...]:
    """Return the containers of a Pod of which only the phase, and the exit code of the training container,
    is known."""
    if phase not in ("Running", *ENDED_PHASES):
        return ()
    training = group.training_container_index or 0
    state = "Running" if phase == "Running" else "Terminated"
    container_states = []
    for position, container in _list_containers(group):
        own_exit_code = exit_code if position == training and exit_code is not None else 0
        unknown = phase == "Running" or (phase == "Failed" and exit_code is None)
        container_states.append(
            ContainerState(get_text(container, "name"), state, None if unknown else own_exit_code)
        )
    return tuple(container_states)


def describe_end(replica: ObservedReplica) -> str:
    """Describe how a replica ended, as the predicate of a sentence."""
    if replica.phase == "Succeeded":
        return "completed"
    cause = replica.reason or _SIGNAL_BY_EXIT_CODE.get(replica.exit_code or 0)
    cause_text = f" ({cause})" if cause else ""
    return (
        f"failed without an exit code{cause_text}"
        if replica.exit_code is None
        else f"ended with {replica.exit_code}{cause_text}"
    )


def format_replicas(listed_replicas: Sequence[ObservedReplica]) -> str:
    """Format replicas by their short names, with runs of indexes folded as ``worker-{0..3}``."""
    runs: list[str] = []
    for _, numbered in groupby(
        enumerate(listed_replicas), key=lambda pair: (pair[1].type, pair[1].rank - pair[0])
    ):
        run = [replica for _, replica in numbered]
        first, last = run[0], run[-1]
        label = first.type.lower()
        folded = len(run) > 1 and first.short_name != label
        runs.append(f"{label}-{{{first.rank}..{last.rank}}}" if folded else first.short_name)
    if len(runs) > MAX_NAMED_RUNS:
        rest = len(runs) - MAX_NAMED_RUNS + 1
        return f"{', '.join(runs[: MAX_NAMED_RUNS - 1])} and {rest} more"
    return f"{', '.join(runs[:-1])} and {runs[-1]}" if len(runs) > 1 else "".join(runs)


def select_plural(subjects: Sequence[object], singular: str, plural_form: str) -> str:
    """Return the form of a verb for the number of subjects."""
    return singular if len(subjects) == 1 else plural_form
