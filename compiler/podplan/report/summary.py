"""The summary line of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podplan.checker.check import CheckResult
from podplan.checker.files import MAPPING_HINT
from podplan.checker.result import NEED_INVENTORY
from podplan.core.lazy_regex import compile_lazily
from podplan.core.wording import format_count
from podplan.report.sanitization import escape_text

_MOST_NAMED = 3
_MOST_KINDS = 5
# A kind whose objects are not checked, such as "Deployment (apps/v1)".
_KIND_REASON = compile_lazily(r"\w+ \((?:[\w.-]+/)?v\d\w*\)")
_HINTS = {NEED_INVENTORY: " (podplan rules --needs inventory)"}


def format_summary(result: CheckResult, with_hints: bool = False, lists_kinds: bool = False) -> str:
    """Return "1 error in 3 files (4 objects, 38 lowered); not checked: 2 × Deployment (apps/v1)" or the like,
    with the commands that show what was not checked if ``with_hints``, and with more than five kinds of
    objects that are not checked if it ``lists_kinds``."""
    counts = result.summary
    count_texts = [
        format_count(number, word)
        for number, word in ((counts.errors, "error"), (counts.warnings, "warning"), (counts.infos, "info"))
        if number
    ]
    *first_texts, last_text = count_texts or ["no findings"]
    line = f"{', '.join(first_texts)} and {last_text}" if first_texts else last_text
    line += f" in {format_count(counts.files, 'file')}"
    line += f", {counts.suppressed} suppressed" if counts.suppressed else ""
    line += f", {counts.omitted} left out" if counts.omitted else ""
    line += f" ({format_count(counts.objects, 'object')}, {counts.lowered} lowered)"
    if counts.not_checked:
        not_checked = counts.not_checked if lists_kinds else _fold_kinds(counts.not_checked, with_hints)
        line += f"; {format_not_checked(not_checked, with_hints)}"
    if counts.unreadable_folders:
        line += f"; {unreadable(counts.unreadable_folders)}"
    if counts.unlisted:
        line += f"; -v lists the {_describe_unlisted(result)}"
    if counts.today:
        line += f"; suppressions judged as of {counts.today}"
    return escape_text(line)


def format_not_checked(not_checked: Mapping[str, int], with_hints: bool = False) -> str:
    """Return "not checked: 2 × Deployment (apps/v1)" or the like, for the number of each reason."""
    hints = _HINTS if with_hints else {}
    parts: list[str] = []
    for reason, number in not_checked.items():
        kind, hint, rest = reason.partition(MAPPING_HINT)
        is_repeated = hint and any(MAPPING_HINT in part for part in parts)
        parts.append(f"{number} × {kind + rest if is_repeated else reason}{hints.get(reason, '')}")
    return f"not checked: {', '.join(parts)}"


def _fold_kinds(not_checked: Mapping[str, int], with_hints: bool) -> dict[str, int]:
    """Return the numbers with one for all kinds that are not checked, if there are many."""
    kinds = [reason for reason in not_checked if _KIND_REASON.fullmatch(reason)]
    if len(kinds) <= _MOST_KINDS:
        return dict(not_checked)
    folded = f"object of {len(kinds)} other kinds{' (-v lists them)' if with_hints else ''}"
    rest = {reason: number for reason, number in not_checked.items() if reason not in kinds}
    return {folded: sum(not_checked[kind] for kind in kinds), **rest}


def _describe_unlisted(result: CheckResult) -> str:
    """Return "3 infos", or "3 findings" if there are warnings among them."""
    is_infos = result.summary.unlisted <= result.summary.infos
    return format_count(result.summary.unlisted, "info" if is_infos else "finding")


def unreadable(folders: Sequence[str], files: Sequence[str] = ()) -> str:
    """Return "1 folder could not be read (jobs/private)" or the like; there is at least one folder or
    file."""
    counts = [
        format_count(len(paths), word) for paths, word in ((folders, "folder"), (files, "file")) if paths
    ]
    named = [*folders, *files]
    more = ", …" if len(named) > _MOST_NAMED else ""
    return f"{' and '.join(counts)} could not be read ({', '.join(named[:_MOST_NAMED])}{more})"
