"""The effect of a change of a CR on a job of the same name that exists.

A GitOps tool that applies a CR patches it; it does not delete and re-create it, except with Replace=true
(https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/). So the controller decides about the
effect: each kind has rules by field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module

from podplan.core.provenance import Behavior, Path
from podplan.core.structural_diff import ABSENT, DiffRules, EntryIndexes, index_by_place, iter_changes
from podplan.core.typing import TYPE_CHECKING, Any, Literal, NamedTuple
from podplan.kinds.registry import find_family, find_kind, load_spec

if TYPE_CHECKING:
    from typing import TypeAlias

EffectLevel: TypeAlias = 'Literal["none", "in-place", "re-run"]'  # typing is loaded only for checking types
EFFECT_LEVELS: tuple[EffectLevel, ...] = ("none", "in-place", "re-run")

STATUS = Behavior(
    "change.status",
    "the controller writes the status, and what others write there is lost",
    "documented",
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/#object-spec-and-status",
)
GENERATED = Behavior(
    "change.generated-name",
    "a CR with generateName is no change of a job that there is: each time that it is created it is another",
    "documented",
    "https://kubernetes.io/docs/reference/using-api/api-concepts/#generated-values",
)
UNKNOWN = Behavior(
    "change.unknown",
    "nothing tells that the controller takes up a change of this field in a job that runs",
    "assumed",
    "docs/diff.md",
)


class ChangeRule(NamedTuple):
    """The effect of a change at ``path`` or below it.

    ``paused_behavior`` is set if a paused job takes over the change in place instead. A rule with ``applies``
    counts only if that is true of the old and the new CR. With ``keeps_pods`` the Pods that run stay, with
    the variables that they have, beside those that the controller adds.
    """

    path: Path
    level: EffectLevel
    behavior: Behavior
    paused_behavior: Behavior | None = None
    applies: Callable[[Any, Any], bool] | None = None
    keeps_pods: bool = False


class ChangeRules(NamedTuple):
    """The rules of a kind, of which the first that matches a path applies, and the path of the pause
    field."""

    rules: tuple[ChangeRule, ...] = ()
    pause_path: Path = ()


_DEFAULT_RULES = (
    ChangeRule(("status",), "none", STATUS),
    ChangeRule((), "re-run", UNKNOWN),
)


class FieldEffect(NamedTuple):
    """The effect of the change at one path of a CR, the behavior that states it, and whether the Pods that
    run stay beside those that the change adds."""

    path: Path
    level: EffectLevel
    behavior: Behavior
    keeps_pods: bool = False


class ChangeEffect(NamedTuple):
    """The effect of a change of a CR under the same name, by the strongest of its effects.

    ``level`` is "none" (nothing that runs changes), "in-place" (the controller updates the existing job) or
    "re-run" (only a re-created job has the change; until then the old one runs on unchanged).
    ``field_effects`` are in the order of the CR; without any, the two CRs are equal.
    """

    level: EffectLevel
    field_effects: tuple[FieldEffect, ...] = ()

    @property
    def decisive_effects(self) -> tuple[FieldEffect, ...]:
        """The effects with the level of the whole change."""
        return tuple(effect for effect in self.field_effects if effect.level == self.level)


def compute_change_effect(old: Any, new: Any, paths: Iterable[Path] | None = None) -> ChangeEffect:
    """Compute the effect of applying ``new`` over ``old``, of the same kind and name.

    ``paths`` are the paths that differ, if the caller knows them; else the two are compared. If the job is
    paused in either CR, its Pods are created from the new one. A CR with generateName is a new job each time.
    """
    change_rules = _load_rules(new)
    rules = [
        one for one in (*change_rules.rules, *_DEFAULT_RULES) if one.applies is None or one.applies(old, new)
    ]
    is_paused = _is_paused(old, change_rules.pause_path) or _is_paused(new, change_rules.pause_path)
    field_effects = [
        _find_field_effect(rules, path, is_paused)
        for path in (iter_changed_paths(old, new) if paths is None else paths)
    ]
    if has_generated_name(new):
        field_effects = [effect._replace(level="re-run", behavior=GENERATED) for effect in field_effects]
    return ChangeEffect(
        max((effect.level for effect in field_effects), key=EFFECT_LEVELS.index, default="none"),
        tuple(field_effects),
    )


def has_generated_name(cr: Any) -> bool:
    """Whether the API server generates the name of a CR, a different one each time."""
    metadata = cr.get("metadata") if isinstance(cr, dict) else None
    return isinstance(metadata, dict) and bool(metadata.get("generateName")) and not metadata.get("name")


def _load_rules(cr: Any) -> ChangeRules:
    """Return the rules of the kind of a CR, or of its family for a kind that podplan does not lower."""
    cr = cr if isinstance(cr, dict) else {}
    kind = find_kind(cr.get("apiVersion"), cr.get("kind"))
    if kind is not None:
        load = load_spec(kind).load_change_rules
        return load() if load is not None else ChangeRules()
    family = find_family(cr.get("apiVersion"), cr.get("kind"))
    if family is None or not family.change_rules_module:
        return ChangeRules()
    rules: ChangeRules = import_module(family.change_rules_module).CHANGE_RULES
    return rules


def _is_paused(cr: Any, pause_path: Path) -> bool:
    for key in pause_path:
        cr = cr.get(key) if isinstance(cr, dict) else None
    return cr is True


def _find_field_effect(rules: Iterable[ChangeRule], path: Path, is_paused: bool) -> FieldEffect:
    """Return the effect of the change at ``path``, by the first rule whose path is a prefix of it."""
    rule = next(rule for rule in rules if path[: len(rule.path)] == rule.path)
    if is_paused and rule.paused_behavior is not None:
        return FieldEffect(path, "in-place", rule.paused_behavior)
    return FieldEffect(path, rule.level, rule.behavior, rule.keeps_pods)


def iter_changed_paths(old: Any, new: Any) -> Iterator[Path]:
    """Yield the paths at which two documents differ, as deep as mappings go; an absent value is an empty
    mapping."""
    return (change.new_path for change in iter_changes(old, new, _DIFF_RULES))


def _index_entries(_: Path, old: list[Any], new: list[Any]) -> tuple[EntryIndexes, EntryIndexes] | None:
    return index_by_place(old, new) if len(old) == len(new) else None


_DIFF_RULES = DiffRules(
    _index_entries,
    is_equal=lambda _, old, new: bool(old == new) and isinstance(old, bool) is isinstance(new, bool),
    expands=lambda change: isinstance(change.new if change.old is ABSENT else change.old, dict),
)
