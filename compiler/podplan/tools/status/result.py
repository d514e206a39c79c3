"""What becomes of a job once the controller has acted on what it saw."""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.core.typing import NamedTuple
from podplan.tools.status.conditions import Condition
from podplan.tools.status.observed_job import Decision, ObservedJob
from podplan.tools.status.replicas import REPLICA_PHASES, ObservedReplica


class ReplicaTransition(NamedTuple):
    """A replica as it was seen, and the phase that it has once the controller has acted."""

    observed: ObservedReplica
    phase: str
    is_restarted: bool = False
    is_deleted: bool = False


class StatusResult(NamedTuple):
    """What becomes of a job. ``headline`` says why it is in its phase; ``fact`` is what that rests on.

    ``restarts`` are those of each type, the ones of now included.
    """

    job: ObservedJob
    phase: str
    phase_behavior: Behavior
    headline: str
    replicas: tuple[ReplicaTransition, ...]
    conditions: tuple[Condition, ...]
    decisions: tuple[Decision, ...]
    restarts: dict[str, int]

    @property
    def by_type(self) -> dict[str, list[ReplicaTransition]]:
        """The replicas of each type."""
        transitions_by_type: dict[str, list[ReplicaTransition]] = {type_: [] for type_ in self.restarts}
        for transition in self.replicas:
            transitions_by_type[transition.observed.type].append(transition)
        return transitions_by_type

    @property
    def aggregate(self) -> dict[str, int]:
        """How many replicas are in each phase, as status.aggregate has it."""
        phase_counts = dict.fromkeys(sorted(REPLICA_PHASES), 0)
        for transition in self.replicas:
            phase_counts[transition.phase] += 1
        return {phase.lower(): number for phase, number in phase_counts.items()}
