"""What a change of the repository does to a job that has the same name before and after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.facts.changes import Effect, what_happens
from podplan.findings import Path, value_at
from podplan.kubernetes import quantities
from podplan.lint.checks._jobs import called, counted, written
from podplan.lint.subject import Hit, Subject
from podplan.provenance import Doc
from podplan.pruning import pruned
from podplan.schema import check_against, check_cr
from podplan.typing import Any

MAY_BE_SECRET = frozenset({"env", "args", "command"})
LONGEST = 60  # letters of a value in a message


def immutable_field(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A field that cannot be changed once the job is there. Values: ``job``, ``field``, ``old``, ``new``,
    ``fact``: why it cannot."""
    for effect in _effects(subject):
        if _is_documented(effect):
            yield Hit(_here(subject, effect.path), {**_values(subject, effect), "fact": effect.fact.text})


def reaches_no_job(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A change that a job which runs does not take up; once per job, as long as nothing worse is.

    Values: ``job``, ``field``, ``old``, ``new``, ``more``.
    """
    effects = _effects(subject)
    if not effects or any(_is_documented(effect) for effect in effects):
        return
    first, *others = effects
    related: list[tuple[Doc, Path, str]] = [
        (subject.doc, _here(subject, one.path), "changes too") for one in others[:3]
    ]
    more = f", and {counted(len(others), 'more change')}" if others else ""
    yield Hit(_here(subject, first.path), {**_values(subject, first), "more": more}, related=related)


def _effects(subject: Subject) -> list[Effect]:
    """What is another in the CR, as far as only a job made anew has it."""
    before = subject.job.before
    if before is None:
        return []
    change = what_happens(before.data, subject.data)
    effects = [
        effect
        for effect in change.effects
        if effect.how == "re-run"
        and not _is_same_amount(value_at(before.data, effect.path), value_at(subject.data, effect.path))
    ]
    return effects if effects and _can_be_applied(subject) else []


def _can_be_applied(subject: Subject) -> bool:
    """Whether the CR gets to the cluster: a profile of a wrong form renders none, and a wrong CR is refused.

    Fields that nobody knows are dropped on the way, and what is left is applied.
    """
    profile = subject.job.profile
    if profile is not None and check_against("JobProfile", profile.data):
        return False
    version = subject.job.version
    left = pruned(subject.doc, check_cr(subject.data, version).problems)
    return not check_cr(left.data, version).problems


def _is_documented(effect: Effect) -> bool:
    """Whether it is documented of this very field that it cannot be changed."""
    return effect.fact.basis == "documented"


def _is_same_amount(old: Any, new: Any) -> bool:
    """Whether two values are one quantity, written in two ways."""
    if not all(isinstance(one, str | int | float) and not isinstance(one, bool) for one in (old, new)):
        return False
    amount = quantities.parse(old)
    return amount is not None and amount == quantities.parse(new)


def _here(subject: Subject, path: Path) -> Path:
    """The place of a change in the CR of now: of what is gone, what it was in."""
    return written(subject.data, *path)


def _values(subject: Subject, effect: Effect) -> dict[str, str]:
    assert subject.job.before is not None
    before = subject.job.before.data
    return {
        "job": called(subject.job),
        "field": next(step for step in reversed(effect.path) if isinstance(step, str)),
        "old": _shown(value_at(before, effect.path), effect.path),
        "new": _shown(value_at(subject.data, effect.path), effect.path),
    }


def _shown(value: Any, path: Path) -> str:
    """A value in a few letters; none of what may be secret."""
    if value is None:
        return "nothing"
    if MAY_BE_SECRET.intersection(path):
        return "another value"
    if isinstance(value, dict | list):
        return "another list" if isinstance(value, list) else "another map"
    if not isinstance(value, str):
        return str(value).lower()
    one_line = " ".join(value.split())
    return f'"{one_line[:LONGEST]}…"' if len(one_line) > LONGEST else f'"{one_line}"'
