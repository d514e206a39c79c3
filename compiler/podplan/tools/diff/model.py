"""The result of a comparison, as reports read it."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from podplan.core.findings import Finding, Location, Path
from podplan.kinds.change_effects import EffectLevel, FieldEffect

Level = Literal["source", "cr", "lowered"]
LEVELS: tuple[Level, ...] = ("source", "cr", "lowered")


class Count(NamedTuple):
    """A number of something before and after."""

    before: int
    after: int

    @property
    def more(self) -> int:
        return self.after - self.before


class Queue(NamedTuple):
    """What the jobs of a queue ask for of a resource, and its quota where the inventory says: in 10⁻⁹.

    ``quota_before`` is the one that it had; None where the inventory said nothing.
    """

    name: str
    resource: str
    asked: Count
    quota: int | None
    quota_before: int | None


class JobChange(NamedTuple):
    """What becomes of one job, or of another object of the tree.

    ``what`` is "created", "removed", "changed", "broken" (it is not what it was, and cannot be compiled or
    lowered) or "mended". Of a changed one ``effect`` is what applying it does, and ``effects`` say why; it is
    None where the CR is the same, and only the source or the prediction is another. ``was`` is its former
    name, where it has a new one: the job is then another one for the cluster. ``variant`` is the environment
    and matrix instance, ``file`` where it is written now, or was. ``findings`` are the errors of a broken
    one, or those that a mended one had. ``is_job`` is false for other Kubernetes objects.
    """

    what: Literal["created", "removed", "changed", "broken", "mended"]
    kind: str
    namespace: str
    name: str
    environment: str = ""
    variant: str = ""
    file: str = ""
    effect: EffectLevel | None = None
    effects: tuple[FieldEffect, ...] = ()
    was: str = ""
    pods: Count = Count(0, 0)
    gpus: Count = Count(0, 0)
    findings: tuple[Finding, ...] = ()
    is_job: bool = True


class Difference(NamedTuple):
    """One change of a value, in all the objects that have it.

    ``kind`` is that of the objects, or JobProfile; ``part`` is the path as people write it, and ``path`` the
    way to it in the first of the objects; both are empty for whole objects, whose names are then the values.
    ``before`` and ``after`` are the values, or ABSENT. ``objects`` is how many there are, ``roles`` of which
    replica types, and ``jobs`` are the indexes of their jobs in ``Diff.jobs``. ``place`` is where the value
    is written now, or was if it is gone.
    """

    kind: str
    part: str
    path: Path
    before: Any
    after: Any
    objects: int
    roles: tuple[str, ...]
    jobs: tuple[int, ...]
    place: Location | None = None


class Impact(NamedTuple):
    """What the change comes to: sums over the jobs, and how many of them become what.

    Jobs that are broken on one side are in none of the sums. ``changed`` are those that the controllers take
    up in place, ``relabelled`` those of which nothing that runs changes.
    """

    pods: Count
    gpus: Count
    queues: tuple[Queue, ...] = ()
    created: int = 0
    changed: int = 0
    relabelled: int = 0
    rerun: int = 0
    removed: int = 0
    broken: int = 0
    mended: int = 0


class Diff(NamedTuple):
    """Everything that differs. ``base`` and ``head`` are what people call them; ``notes`` are sentences."""

    base: str
    head: str
    level: Level
    impact: Impact
    jobs: tuple[JobChange, ...] = ()
    changes: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.jobs or self.changes or self.impact.queues)
