"""What a change of a CR does under the same name: to a job that runs, and to one that is done.

A GitOps tool that applies a CR patches it; it does not delete and make it anew, unless with Replace=true
(https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/). So what becomes of a change is up to the
controller, and of most fields nobody has documented that it looks at them again once it has made the Pods.
Those are *re-run* here: only a job made anew has the change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from podplan.core.provenance import Behavior, Path
from podplan.core.structural_diff import ABSENT, DiffRules, EntryIndexes, index_by_place, iter_changes

EffectLevel = Literal["none", "in-place", "re-run"]
EFFECT_LEVELS: tuple[EffectLevel, ...] = ("none", "in-place", "re-run")

METADATA = Behavior(
    "change.metadata",
    "labels and annotations of the CR change, and nothing that runs",
    "assumed",
    "docs/evidence/t9k-common.md#metadata-of-a-job",
)
STATUS = Behavior(
    "change.status",
    "the controller writes the status, and what others write there is lost",
    "documented",
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/#object-spec-and-status",
)
PAUSE = Behavior(
    "change.pause",
    "runMode.pause.enabled may be changed at any time: the Pods are deleted, or made again",
    "documented",
    "docs/evidence/t9k-common.md#pause-mode",
)
SCALE = Behavior(
    "change.expected-replicas",
    "expectedReplicas may be changed while the job runs, and the job is scaled to it",
    "documented",
    "docs/evidence/t9k-pytorchtrainingjob.md#elastic-bounds; "
    "docs/evidence/t9k-deepspeedjob.md#elastic-workers",
)
POLICY = Behavior(
    "change.policy",
    "the controller reads the limits, rules and clean-up of a job each time it looks at it",
    "assumed",
    "docs/evidence/t9k-common.md#changed-policies",
)
RESUME_SPECS = Behavior(
    "change.resume-specs",
    "resumeSpecs must not be changed once the job is created",
    "documented",
    "docs/evidence/t9k-common.md#resume-specification",
)
ELASTIC_BOUNDS = Behavior(
    "change.elastic-bounds",
    "minReplicas and maxReplicas cannot be changed once the job is created",
    "documented",
    "docs/evidence/t9k-pytorchtrainingjob.md#elastic-bounds",
)
LAUNCHER = Behavior(
    "change.launcher",
    "workingDir, env and resources of the launcher cannot be updated",
    "documented",
    "docs/evidence/t9k-colossalaijob.md#immutable-launcher-fields",
)
GENERATED = Behavior(
    "change.generated-name",
    "a CR with generateName is no change of a job that there is: each time that it is created it is another",
    "documented",
    "https://kubernetes.io/docs/reference/using-api/api-concepts/#generated-values",
)
PAUSED = Behavior(
    "change.paused",
    "a job that is paused has no Pods, and those that it gets are made from the CR as it is then",
    "assumed",
    "docs/evidence/t9k-common.md#changes-while-paused",
)
QUEUE = Behavior(
    "change.queue",
    "Pods cannot change their queue and their PodGroup",
    "documented",
    "docs/evidence/t9k-common.md#immutable-queue-and-group",
)
PRIORITY = Behavior(
    "change.priority",
    "nothing tells that a PodGroup takes up another priority once it is made",
    "assumed",
    "docs/evidence/t9k-common.md#changed-priority",
)
PODS = Behavior(
    "change.pods",
    "Pods that exist keep what they have, and only those that are made after a change have it",
    "assumed",
    "docs/evidence/t9k-common.md#changed-template",
)

# By the path below the CR, a star for any entry of a list; the first that a path begins with counts.
_EFFECTS_BY_PATH: tuple[tuple[Path, EffectLevel, Behavior], ...] = (
    (("metadata",), "none", METADATA),
    (("status",), "none", STATUS),
    (("spec", "runMode", "pause", "enabled"), "in-place", PAUSE),
    (("spec", "runMode", "pause", "resumeSpecs"), "re-run", RESUME_SPECS),
    (("spec", "elastic", "expectedReplicas"), "in-place", SCALE),
    (("spec", "elastic", "minReplicas"), "re-run", ELASTIC_BOUNDS),
    (("spec", "elastic", "maxReplicas"), "re-run", ELASTIC_BOUNDS),
    (("spec", "launcher", "workingDir"), "re-run", LAUNCHER),
    (("spec", "launcher", "env"), "re-run", LAUNCHER),
    (("spec", "launcher", "resources"), "re-run", LAUNCHER),
    (("spec", "scheduler", "t9kScheduler", "priority"), "re-run", PRIORITY),
    (("spec", "scheduler"), "re-run", QUEUE),
    (("spec", "runPolicy"), "in-place", POLICY),
    (("spec", "cleanUpPolicy"), "in-place", POLICY),
    (("spec", "successRules"), "in-place", POLICY),
    (("spec", "failureRules"), "in-place", POLICY),
    ((), "re-run", PODS),
)


class FieldEffect(NamedTuple):
    """What the change at one path of a CR does, and the fact that says so."""

    path: Path
    level: EffectLevel
    behavior: Behavior


class ChangeEffect(NamedTuple):
    """What a change of a CR does under the same name, by the strongest of its effects.

    ``how`` is "none" (nothing that runs is another), "in-place" (the controller takes it up in the job that
    there is) or "re-run" (only a job made anew has it: that one starts again, and until then the old one
    goes on as it was). ``effects`` are in the order of the CR; without any, the two are equal.
    """

    level: EffectLevel
    field_effects: tuple[FieldEffect, ...] = ()

    @property
    def decisive_effects(self) -> tuple[FieldEffect, ...]:
        """The effects that make the change what it is."""
        return tuple(effect for effect in self.field_effects if effect.level == self.level)


def compute_change_effect(old: Any, new: Any, paths: Iterable[Path] | None = None) -> ChangeEffect:
    """What becomes of a job whose CR ``old`` is applied again as ``new``, of one kind and name.

    ``paths`` are those that differ, where they are known already; else the two are compared value by value.
    Of a job that is paused on either side, Pods are made from the new CR. One that the API server names is
    another job each time.
    """
    field_effects = [
        find_field_effect(path) for path in (iter_changed_paths(old, new) if paths is None else paths)
    ]
    if _is_paused(old) or _is_paused(new):
        field_effects = [
            effect._replace(level="in-place", behavior=PAUSED) if effect.behavior is PODS else effect
            for effect in field_effects
        ]
    if has_generated_name(new):
        field_effects = [effect._replace(level="re-run", behavior=GENERATED) for effect in field_effects]
    return ChangeEffect(
        max((effect.level for effect in field_effects), key=EFFECT_LEVELS.index, default="none"),
        tuple(field_effects),
    )


def has_generated_name(cr: Any) -> bool:
    """Whether the API server gives a CR its name, another one each time."""
    metadata = cr.get("metadata") if isinstance(cr, dict) else None
    return isinstance(metadata, dict) and bool(metadata.get("generateName")) and not metadata.get("name")


def _is_paused(cr: Any) -> bool:
    """Whether ``runMode.pause.enabled`` is true in a CR."""
    for key in ("spec", "runMode", "pause", "enabled"):
        cr = cr.get(key) if isinstance(cr, dict) else None
    return cr is True


def find_field_effect(path: Path) -> FieldEffect:
    """What the change at ``path`` of a CR does."""
    level, behavior = next(
        (how, fact) for begins, how, fact in _EFFECTS_BY_PATH if path[: len(begins)] == begins
    )
    return FieldEffect(path, level, behavior)


def iter_changed_paths(old: Any, new: Any) -> Iterator[Path]:
    """The paths at which two documents differ, as far down as maps lead; what is absent is an empty map."""
    return (change.new_path for change in iter_changes(old, new, _DIFF_RULES))


def _index_entries(_: Path, old: list[Any], new: list[Any]) -> tuple[EntryIndexes, EntryIndexes] | None:
    return index_by_place(old, new) if len(old) == len(new) else None


_DIFF_RULES = DiffRules(
    _index_entries,
    is_equal=lambda _, old, new: bool(old == new) and isinstance(old, bool) is isinstance(new, bool),
    expands=lambda change: isinstance(change.new if change.old is ABSENT else change.old, dict),
)
