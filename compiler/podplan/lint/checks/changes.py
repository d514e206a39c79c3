"""What a change of the repository does to a job that has the same name before and after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import Path, value_at
from podplan.core.lazy_regex import pattern
from podplan.core.provenance import Doc
from podplan.core.typing import Any
from podplan.kinds.t9k.behaviors.change_effects import Effect, what_happens
from podplan.kubernetes import quantities
from podplan.lint.analysis.jobs import called, counted, written
from podplan.lint.target import Hit, Job, Subject, for_one
from podplan.redaction.detection import has_secret_form
from podplan.redaction.redactor import Redactor, build_redactor
from podplan.redaction.secret_names import names_secret
from podplan.schema import check_against, check_cr
from podplan.schema.pruning import pruned

LONGEST = 60  # letters of a value in a message
# What a command line or a shell string gives a value to: --api-key=…, API_KEY=…, --api-key …
_GIVEN_A_VALUE = pattern(r"([A-Za-z_][\w-]*)(?:=|\s+)\S")


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
    before, now, path = subject.job.before.data, subject.data, effect.path
    old, new = value_at(before, path), value_at(now, path)
    redactor = _redactor(subject.job)
    one, other = redactor.text(_text(old, new)), redactor.text(_text(new, old))
    if _is_hidden(before, path) or _is_hidden(now, path) or (one and one == other):
        old_text, new_text = (
            said if value is not None else "nothing"
            for value, said in ((old, "a value"), (new, "another value"))
        )
    else:
        old_text, new_text = _shown(old, one, other, "a"), _shown(new, other, one, "another")
    return {"job": called(subject.job), "field": _field(now, path), "old": old_text, "new": new_text}


def _field(data: Any, path: Path) -> str:
    """The name of the field at ``path``, of a variable its own."""
    variable = _variable(data, path)
    return f"env[{variable}]" if variable else next(step for step in reversed(path) if isinstance(step, str))


def _variable(data: Any, path: Path) -> str:
    """The name of the variable that ``path`` leads into, or ""."""
    if "env" not in path[:-1]:
        return ""
    name = value_at(data, (*path[: path.index("env") + 2], "name"))
    return name if isinstance(name, str) else ""


def _is_hidden(data: Any, path: Path) -> bool:
    """Whether the value at ``path`` may be a secret: by its variable, its option, or a name in its text."""
    names = {_variable(data, path)}
    if path and isinstance(path[-1], int) and path[-1] > 0:
        names.add(str(value_at(data, (*path[:-1], path[-1] - 1))))  # the word before: [--api-key, …]
    words = [word for word in _scalars(value_at(data, path)) if isinstance(word, str)]
    names.update(words)
    names.update(name for word in words for name in _GIVEN_A_VALUE.findall(word))
    return any(map(names_secret, names)) or any(map(has_secret_form, words))


@for_one
def _redactor(job: Job) -> Redactor:
    return build_redactor(doc.data for doc in (job.before, job.cr) if doc is not None)


def _scalars(value: Any) -> list[Any]:
    """``value``, or the entries of a list, where these are no lists and maps themselves."""
    entries = value if isinstance(value, list) else [value]
    return [] if any(isinstance(entry, dict | list) for entry in entries) else entries


def _text(value: Any, other: Any) -> str:
    """A value as text, and of a list the words from the last on that ``other`` has too; "" without any."""
    if isinstance(value, list):
        mine, others = _words(value), _words(other)
        start = max(0, _same_in_front(mine, others) - 1)
        return ("… " if start else "") + " ".join(mine[start:]) if others or not other else ""
    if value is None or isinstance(value, dict):
        return ""
    return " ".join(value.split()) if isinstance(value, str) else str(value).lower()


def _words(value: Any) -> list[str]:
    """The words of a list of words, or the names of its entries; empty where it has neither."""
    if not isinstance(value, list):
        return []
    names = [entry.get("name") if isinstance(entry, dict) else entry for entry in value]
    plain = all(name is not None and not isinstance(name, dict | list) for name in names)
    return list(map(str, names)) if plain else []


def _same_in_front(one: Sequence[str], other: Sequence[str]) -> int:
    """How many letters, or words, two texts or lists have in common before they differ."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, others) in pairs if mine != others), min(len(one), len(other)))


def _shown(value: Any, text: str, other: str, article: str) -> str:
    """A value as a message has it: of a long text what lies around the letter in which it differs."""
    if value is None:
        return "nothing"
    if not text and isinstance(value, dict | list):
        return f"{article} {'map' if isinstance(value, dict) else 'list'}"
    if not isinstance(value, str | list):
        return text
    start = max(0, _same_in_front(text, other) - LONGEST // 3) if len(text) > LONGEST else 0
    before, behind = "…" if start else "", "…" if start + LONGEST < len(text) else ""
    return f'"{before}{text[start : start + LONGEST]}{behind}"'
