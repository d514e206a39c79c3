"""What a change of the repository does to a job that has the same name before and after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import Path, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kinds.change_effects import FieldEffect, compute_change_effect
from podplan.kubernetes import quantities
from podplan.lint.analysis.jobs import find_written_path, get_job_label
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation, cache_latest
from podplan.redaction.detection import has_secret_form
from podplan.redaction.redactor import Redactor, build_redactor
from podplan.redaction.secret_names import is_secret_name
from podplan.schema import validate_against, validate_cr
from podplan.schema.pruning import prune_unknown_fields

MAX_SHOWN_LENGTH = 60  # characters of a value that a message shows
# The name before a value in a command line or a shell string: --api-key=…, API_KEY=…, --api-key …
_ASSIGNED_NAME = compile_lazily(r"([A-Za-z_][\w-]*)(?:=|\s+)\S")


@check(aliases=("immutable-field",))
def immutable_field_changed(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A field that cannot be changed while the job exists. Values: ``job``, ``field``, ``old``, ``new``,
    ``fact``: why it cannot."""
    for effect in _find_effects(target):
        if _is_documented(effect):
            yield Violation(
                _find_current_path(target, effect.path),
                {**_build_values(target, effect), "fact": effect.behavior.text},
            )


@check(aliases=("reaches-no-job",))
def change_reaches_no_job(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A change that does not reach a running job; once per job, only if no immutable field changes.

    Values: ``job``, ``field``, ``old``, ``new``, ``more``.
    """
    effects = _find_effects(target)
    if not effects or any(_is_documented(effect) for effect in effects):
        return
    first, *other_effects = effects
    related: list[tuple[TracedDocument, Path, str]] = [
        (target.doc, _find_current_path(target, one.path), "changes too") for one in other_effects[:3]
    ]
    more_text = f", and {format_count(len(other_effects), 'more change')}" if other_effects else ""
    yield Violation(
        _find_current_path(target, first.path),
        {**_build_values(target, first), "more": more_text},
        related=related,
    )


def _find_effects(target: Target) -> list[FieldEffect]:
    """Return the changes of the CR that take effect only when the job is re-created."""
    base_cr = target.job.base_cr
    if base_cr is None:
        return []
    change = compute_change_effect(base_cr.data, target.data)
    effects = [
        effect
        for effect in change.field_effects
        if effect.level == "re-run"
        and not _is_same_amount(value_at(base_cr.data, effect.path), value_at(target.data, effect.path))
    ]
    return effects if effects and _can_be_applied(target) else []


def _can_be_applied(target: Target) -> bool:
    """Whether the CR reaches the cluster: an invalid profile renders no CR, and an invalid CR is refused.

    The API server drops unknown fields and applies the rest, so they do not count as errors.
    """
    profile = target.job.profile
    if profile is not None and validate_against("JobProfile", profile.data):
        return False
    version = target.job.kubernetes_version
    pruned_cr = prune_unknown_fields(target.doc, validate_cr(target.data, version).diagnostics)
    return not validate_cr(pruned_cr.data, version).diagnostics


def _is_documented(effect: FieldEffect) -> bool:
    """Whether the documentation states that this very field cannot be changed."""
    return effect.behavior.basis == "documented"


def _is_same_amount(old: Any, new: Any) -> bool:
    """Whether two values are the same quantity in different notations."""
    if not all(isinstance(one, str | int | float) and not isinstance(one, bool) for one in (old, new)):
        return False
    amount = quantities.parse_quantity(old)
    return amount is not None and amount == quantities.parse_quantity(new)


def _find_current_path(target: Target, path: Path) -> Path:
    """Return the path of a change in the current CR; for a removed field, the path of its parent."""
    return find_written_path(target.data, *path)


def _build_values(target: Target, effect: FieldEffect) -> dict[str, str]:
    assert target.job.base_cr is not None
    base_data, current_data, path = target.job.base_cr.data, target.data, effect.path
    old, new = value_at(base_data, path), value_at(current_data, path)
    redactor = _build_job_redactor(target.job)
    old_redacted, new_redacted = (
        redactor.redact_text(_format_plain_value(old, new)),
        redactor.redact_text(_format_plain_value(new, old)),
    )
    if (
        _may_be_secret(base_data, path)
        or _may_be_secret(current_data, path)
        or (old_redacted and old_redacted == new_redacted)
    ):
        old_text, new_text = (
            said if value is not None else "nothing"
            for value, said in ((old, "a value"), (new, "another value"))
        )
    else:
        old_text, new_text = (
            _format_shown_value(old, old_redacted, new_redacted, "a"),
            _format_shown_value(new, new_redacted, old_redacted, "another"),
        )
    return {
        "job": get_job_label(target.job),
        "field": _describe_field(current_data, path),
        "old": old_text,
        "new": new_text,
    }


def _describe_field(data: Any, path: Path) -> str:
    """Return the name of the field at ``path``; for a variable, the name of the variable."""
    variable = _find_variable_name(data, path)
    return f"env[{variable}]" if variable else next(step for step in reversed(path) if isinstance(step, str))


def _find_variable_name(data: Any, path: Path) -> str:
    """The name of the variable that ``path`` leads into, or ""."""
    if "env" not in path[:-1]:
        return ""
    name = value_at(data, (*path[: path.index("env") + 2], "name"))
    return name if isinstance(name, str) else ""


def _may_be_secret(data: Any, path: Path) -> bool:
    """Whether the value at ``path`` may be a secret: by its variable, its option, or a name in its text."""
    names = {_find_variable_name(data, path)}
    if path and isinstance(path[-1], int) and path[-1] > 0:
        names.add(str(value_at(data, (*path[:-1], path[-1] - 1))))  # the previous word: [--api-key, …]
    words = [word for word in _list_scalars(value_at(data, path)) if isinstance(word, str)]
    names.update(words)
    names.update(name for word in words for name in _ASSIGNED_NAME.findall(word))
    return any(map(is_secret_name, names)) or any(map(has_secret_form, words))


@cache_latest
def _build_job_redactor(job: LoweredJob) -> Redactor:
    return build_redactor(doc.data for doc in (job.base_cr, job.cr) if doc is not None)


def _list_scalars(value: Any) -> list[Any]:
    """``value``, or the entries of a list that are no lists or maps."""
    entries = value if isinstance(value, list) else [value]
    return [] if any(isinstance(entry, dict | list) for entry in entries) else entries


def _format_plain_value(value: Any, other_value: Any) -> str:
    """Return a value as text, "" for a mapping or null.

    Of a list, return only the words from the last one that it has in common with ``other_value``.
    """
    if isinstance(value, list):
        own_words, other_words = _list_words(value), _list_words(other_value)
        start = max(0, _count_common_prefix(own_words, other_words) - 1)
        return ("… " if start else "") + " ".join(own_words[start:]) if other_words or not other_value else ""
    if value is None or isinstance(value, dict):
        return ""
    return " ".join(value.split()) if isinstance(value, str) else str(value).lower()


def _list_words(value: Any) -> list[str]:
    """Return the strings of a list, or the names of its entries; empty if it has neither."""
    if not isinstance(value, list):
        return []
    names = [entry.get("name") if isinstance(entry, dict) else entry for entry in value]
    plain = all(name is not None and not isinstance(name, dict | list) for name in names)
    return list(map(str, names)) if plain else []


def _count_common_prefix(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the common prefix of two texts or lists."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (mine, others) in pairs if mine != others), min(len(first), len(second)))


def _format_shown_value(value: Any, text: str, other_text: str, article: str) -> str:
    """Format a value for a message; of a long text only the part around the first difference."""
    if value is None:
        return "nothing"
    if not text and isinstance(value, dict | list):
        return f"{article} {'map' if isinstance(value, dict) else 'list'}"
    if not isinstance(value, str | list):
        return text
    start = (
        max(0, _count_common_prefix(text, other_text) - MAX_SHOWN_LENGTH // 3)
        if len(text) > MAX_SHOWN_LENGTH
        else 0
    )
    prefix, suffix = "…" if start else "", "…" if start + MAX_SHOWN_LENGTH < len(text) else ""
    return f'"{prefix}{text[start : start + MAX_SHOWN_LENGTH]}{suffix}"'
