"""The predicted status of a job after the controller has acted."""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.core.typing import Any, NamedTuple
from podplan.tools.status.conditions import Condition
from podplan.tools.status.observed_job import ControllerDecision, ObservedJob
from podplan.tools.status.replicas import REPLICA_PHASES, ObservedReplica


class ReplicaTransition(NamedTuple):
    """A replica with its observed state, and its phase after the controller has acted."""

    observed: ObservedReplica
    phase: str
    is_restarted: bool = False
    is_deleted: bool = False


class StatusResult(NamedTuple):
    """The predicted status. ``headline`` is the reason for the phase; ``phase_behavior`` is what it is based
    on.

    ``restarts`` are those of each type, including the current ones. ``reported`` is the status itself, of
    kinds that report Jobs.
    """

    job: ObservedJob
    phase: str
    phase_behavior: Behavior
    headline: str
    replicas: tuple[ReplicaTransition, ...]
    conditions: tuple[Condition, ...]
    decisions: tuple[ControllerDecision, ...]
    restarts: dict[str, int]
    reported: dict[str, Any] | None = None

    @property
    def by_type(self) -> dict[str, list[ReplicaTransition]]:
        """Group the replicas by type."""
        transitions_by_type: dict[str, list[ReplicaTransition]] = {type_: [] for type_ in self.restarts}
        for transition in self.replicas:
            transitions_by_type[transition.observed.type].append(transition)
        return transitions_by_type

    @property
    def aggregate(self) -> dict[str, int]:
        """Return how many replicas are in each phase, as in status.aggregate."""
        phase_counts = dict.fromkeys(sorted(REPLICA_PHASES), 0)
        for transition in self.replicas:
            phase_counts[transition.phase] += 1
        return {phase.lower(): number for phase, number in phase_counts.items()}
