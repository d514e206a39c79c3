"""What becomes of a job once the controller has acted on what it saw."""

from __future__ import annotations

from podplan.core.provenance import Fact
from podplan.core.typing import NamedTuple
from podplan.tools.status.conditions import Condition
from podplan.tools.status.observed_job import Decision, Observed
from podplan.tools.status.replicas import PHASES, Replica


class After(NamedTuple):
    """A replica as it was seen, and the phase that it has once the controller has acted."""

    seen: Replica
    phase: str
    restarted: bool = False
    deleted: bool = False


class Result(NamedTuple):
    """What becomes of a job. ``headline`` says why it is in its phase; ``fact`` is what that rests on.

    ``restarts`` are those of each type, the ones of now included.
    """

    job: Observed
    phase: str
    fact: Fact
    headline: str
    replicas: tuple[After, ...]
    conditions: tuple[Condition, ...]
    decisions: tuple[Decision, ...]
    restarts: dict[str, int]

    @property
    def by_type(self) -> dict[str, list[After]]:
        """The replicas of each type."""
        found: dict[str, list[After]] = {type_: [] for type_ in self.restarts}
        for one in self.replicas:
            found[one.seen.type].append(one)
        return found

    @property
    def aggregate(self) -> dict[str, int]:
        """How many replicas are in each phase, as status.aggregate has it."""
        counted = dict.fromkeys(sorted(PHASES), 0)
        for one in self.replicas:
            counted[one.phase] += 1
        return {phase.lower(): number for phase, number in counted.items()}
