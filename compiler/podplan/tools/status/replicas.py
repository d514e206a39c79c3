"""The replicas of a job: which there are, and in which state each one was seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from podplan.core.limits import MAX_REPLICAS_WRITTEN_OUT, BoundExceeded, beyond
from podplan.core.replica_groups import Group, at_index
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import entries, mapping, text

# As status.tasks has them: the phases of a Pod, and two of the controller's own
# (docs/evidence/t9k-common.md#task-status).
PHASES = ("Creating", "Pending", "Running", "Succeeded", "Failed", "Unknown", "Deleted")
ENDED = ("Succeeded", "Failed")
NOT_STARTED = ("Creating", "Pending")

MOST_NAMED = 6  # runs of replicas in one sentence
_SIGNALS = {129: "SIGHUP", 130: "SIGINT", 132: "SIGILL", 134: "SIGABRT", 135: "SIGBUS", 136: "SIGFPE"}
_SIGNALS |= {137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM"}


class Container(NamedTuple):
    """One container of a Pod: Waiting, Running or Terminated; ``code`` and ``reason`` are how it ended."""

    name: str
    state: str
    code: int | None = None
    reason: str = ""


class Replica(NamedTuple):
    """One replica with its Pod.

    ``name`` is that of the Pod, and ``short`` what it is within the job, such as worker-3 or launcher.
    ``code`` is the exit code of a Pod that has failed, None where nothing tells it, and ``reason`` a word for
    it such as OOMKilled. ``restarts`` are those that it is said to have had before. ``told`` is false where
    its state is taken for granted.
    """

    type: str
    rank: int
    name: str
    short: str
    phase: str
    code: int | None = None
    reason: str = ""
    containers: tuple[Container, ...] = ()
    uid: str = ""
    restarts: int = 0
    told: bool = False

    @property
    def ended(self) -> bool:
        return self.phase in ENDED


def replicas(groups: Iterable[Group], phase: str) -> list[Replica]:
    """The replicas of lowered Pods, in the order of the types and ranks, all in ``phase``.

    Raises BoundExceeded for more than ``MAX_REPLICAS_WRITTEN_OUT``.
    """
    pods = [group for group in groups if group.doc.data["kind"] == "Pod"]
    number = sum(group.replicas for group in pods)
    if number > MAX_REPLICAS_WRITTEN_OUT:
        most = MAX_REPLICAS_WRITTEN_OUT
        message = f"the job has {number} replicas, and a status lists at most {most}"
        raise BoundExceeded(beyond("replicas", message))
    return [replica for group in pods for replica in _of(group, phase)]


def _of(group: Group, phase: str) -> list[Replica]:
    varies = group.doc.varies.get(("metadata", "name")) is not None
    indexes = range(group.start, group.start + group.replicas)
    return [
        Replica(
            group.role,
            index,
            at_index(group.doc, index)["metadata"]["name"],
            f"{group.role}-{index}" if varies else group.role,
            phase,
            containers=ran(group, phase),
        )
        for index in indexes
    ]


def trains(group: Group) -> str:
    """The name of the container of a Pod that trains."""
    found = dict(_containers(group))
    return text(found.get(group.training or 0, {}), "name")


def _containers(group: Group) -> list[tuple[int, dict[str, Any]]]:
    return entries(mapping(group.doc.data, "spec"), "containers")


def ran(group: Group, phase: str, code: int | None = None) -> tuple[Container, ...]:
    """The containers of a Pod of which only the phase is known, and the exit code of the one that trains."""
    if phase not in ("Running", *ENDED):
        return ()
    training = group.training or 0
    state = "Running" if phase == "Running" else "Terminated"
    found = []
    for position, container in _containers(group):
        ended = code if position == training and code is not None else 0
        unknown = phase == "Running" or (phase == "Failed" and code is None)
        found.append(Container(text(container, "name"), state, None if unknown else ended))
    return tuple(found)


def how_it_ended(replica: Replica) -> str:
    """How a replica ended, as the predicate of a sentence."""
    if replica.phase == "Succeeded":
        return "completed"
    known = replica.reason or _SIGNALS.get(replica.code or 0)
    why = f" ({known})" if known else ""
    return f"failed without an exit code{why}" if replica.code is None else f"ended with {replica.code}{why}"


def named(found: Sequence[Replica]) -> str:
    """Replicas by their short names, runs of indexes folded as ``worker-{0..3}``."""
    runs: list[str] = []
    for _, numbered in groupby(enumerate(found), key=lambda pair: (pair[1].type, pair[1].rank - pair[0])):
        run = [replica for _, replica in numbered]
        first, last = run[0], run[-1]
        folded = len(run) > 1 and first.short != first.type
        runs.append(f"{first.type}-{{{first.rank}..{last.rank}}}" if folded else first.short)
    if len(runs) > MOST_NAMED:
        rest = len(runs) - MOST_NAMED + 1
        return f"{', '.join(runs[: MOST_NAMED - 1])} and {rest} more"
    return f"{', '.join(runs[:-1])} and {runs[-1]}" if len(runs) > 1 else "".join(runs)


def plural(found: Sequence[object], one: str, many: str) -> str:
    """The form of a verb for so many subjects."""
    return one if len(found) == 1 else many
