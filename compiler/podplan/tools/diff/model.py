"""The result of a comparison."""

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
    """What the jobs of a queue request of a resource, and its quota if the inventory has one: in 10⁻⁹.

    ``quota_before`` is the previous quota; None if the inventory had none.
    """

    name: str
    resource: str
    asked: Count
    quota: int | None
    quota_before: int | None


class JobChange(NamedTuple):
    """The outcome for one job, or for another object of the repository.

    ``what`` is "created", "removed", "changed", "broken" (it differs, and cannot be compiled or lowered) or
    "mended" (fixed). ``effect`` of a changed job is the effect of applying it, and ``effects`` explain that;
    it is None if the CR is unchanged, and only the source or the prediction differs. ``was`` is the old name
    of a renamed job, which is a new job for the cluster. ``variant`` is the environment and matrix instance,
    ``file`` is where it is written now, or was written. ``findings`` are the errors of a broken job, or the
    former errors of a mended one. ``gpu_seconds`` are GPUs × deadline, None if a side with GPUs has no
    deadline. ``is_job`` is false for other Kubernetes objects, and for documents that jobs refer to;
    ``through`` are the changed ones that the job refers to, such as its runtime. ``gpus_on_merge`` are the
    GPUs that a job with the effect "re-run" gets at once, since its controller takes over other fields.
    ``kept_variables`` are those with one value in Pods that stay, and another in Pods that the change adds.
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
    gpu_seconds: Count | None = None
    findings: tuple[Finding, ...] = ()
    is_job: bool = True
    through: tuple[str, ...] = ()
    gpus_on_merge: int = 0
    kept_variables: tuple[str, ...] = ()


class Difference(NamedTuple):
    """One change of a value, in all objects that have it.

    ``kind`` is that of the objects, or JobProfile; ``part`` is the formatted path, and ``path`` the path in
    the first object; both are empty for whole objects, whose names are then the values. ``before`` and
    ``after`` are the values, or ABSENT. ``objects`` is their number, ``roles`` are their replica types, and
    ``jobs`` are the indexes of their jobs in ``Diff.jobs``. ``place`` is where the value is written now, or
    was written.
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
    """The totals over the jobs, and the number of jobs by outcome.

    Jobs that are broken on one side are excluded from the totals. ``changed`` are updated in place by their
    controllers, ``relabelled`` have no change of what runs.
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
    """All differences. ``base`` and ``head`` are the names of the revisions; ``notes`` are sentences.

    ``uncompared`` is the number of jobs, and of files that cannot be read, with errors on both sides.
    """

    base: str
    head: str
    level: Level
    impact: Impact
    jobs: tuple[JobChange, ...] = ()
    changes: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    uncompared: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.jobs or self.changes or self.impact.queues)
