"""Findings repaired: their fixes made in the texts of the files, and each tried before it counts.

Nothing is written here. After every pass the files are checked as they would be; a fix whose finding does not
go away, or that brings errors, is withdrawn.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from podplan.checker.check import Result, Watch, check
from podplan.core.findings import Edit, Finding, Fix, Severity
from podplan.core.typing import NamedTuple
from podplan.pipeline import Settings
from podplan.redaction.redactor import redact_spans
from podplan.workspace import Reader

MAX_PASSES = 20
OF_FORM = ("YAML", "SCHEMA", "PROF0")

Texts = Mapping[str, str]
Check = Callable[[Texts], Result]


class Repaired(NamedTuple):
    """The result after repairing; ``texts`` and ``before`` are the texts of the files that changed.

    ``withdrawn`` are fixes that did not do what they promise, each with what happened. ``shown`` are the
    texts before and after with stars for secrets; a file that may not be shown at all is not in it.
    """

    result: Result
    texts: dict[str, str]
    before: dict[str, str]
    fixed: tuple[Finding, ...]
    withdrawn: tuple[tuple[Finding, str], ...]
    shown: dict[str, tuple[str, str]]


def repair(
    paths: Sequence[str],
    settings: Settings,
    exclude: Sequence[str],
    unsafe: bool,
    watch: Watch | None = None,
) -> Repaired:
    """The files that ``paths`` stand for, repaired as far as fixes go; raises as ``check`` does."""

    def checked(texts: Texts) -> Result:
        return check(paths, settings, Reader(exclude=exclude, instead=texts), exclude, watch)

    return repaired(checked, unsafe)


def repaired(checked: Check, unsafe: bool) -> Repaired:
    """The same for anything that can be checked with other texts in the place of files."""
    texts: dict[str, str] = {}
    before: dict[str, str] = {}
    fixed: list[Finding] = []
    withdrawn: list[tuple[Finding, str]] = []
    shown: dict[str, tuple[str, str]] = {}
    result = checked(texts)
    for _ in range(MAX_PASSES):
        given_up = {_key(found) for found, _ in withdrawn}
        wanted = [found for found in result.repairs if _may(found, unsafe) and _key(found) not in given_up]
        chosen = _apart(wanted)
        if not chosen:
            break
        before = dict(result.written) | before

        def tried(fixes: Sequence[Finding], texts: Texts = texts, result: Result = result) -> Result | str:
            after = checked({**texts, **_edited(fixes, result.written)})
            return _failure(fixes, result, after) or after

        chosen, after = _holding(chosen, [], result, tried, withdrawn)
        if chosen:  # what stood in the way of the others may be gone now
            withdrawn.clear()
        texts = texts | _edited(chosen, result.written)
        for file, text in _edited([_starred(found) for found in chosen], result.texts).items():
            shown[file] = (shown[file][0] if file in shown else result.texts[file], text)
        fixed += chosen
        result = after
    before = {file: before[file] for file in texts}
    return Repaired(result, texts, before, tuple(fixed), tuple(withdrawn), shown)


def _holding(
    fixes: list[Finding],
    kept: list[Finding],
    last: Result,
    tried: Callable[[Sequence[Finding]], Result | str],
    withdrawn: list[tuple[Finding, str]],
) -> tuple[list[Finding], Result]:
    """``kept`` and those of the fixes that hold beside it, and what is found then; the others are withdrawn.

    Halves are tried while they fail, so that one bad fix among many costs a few checks, not one for each.
    """
    after = tried([*kept, *fixes])
    if isinstance(after, Result):
        return [*kept, *fixes], after
    if len(fixes) == 1:
        withdrawn.append((fixes[0], after))
        return kept, last
    middle = len(fixes) // 2
    kept, last = _holding(fixes[:middle], kept, last, tried, withdrawn)
    return _holding(fixes[middle:], kept, last, tried, withdrawn)


def _may(found: Finding, unsafe: bool) -> bool:
    return found.fix is not None and bool(found.fix.edits) and (found.fix.safe or unsafe)


def _edits(found: Finding) -> tuple[Edit, ...]:
    fix = found.fix
    assert isinstance(fix, Fix)
    return fix.edits


def _apart(findings: Iterable[Finding]) -> list[Finding]:
    """The findings whose edits touch none of those before them; the others wait for the next pass."""
    taken: dict[str, list[tuple[int, int]]] = {}
    chosen = []
    for found in findings:
        edits = _edits(found)
        if any(_meets(edit, taken.get(edit.file, [])) for edit in edits):
            continue
        for edit in edits:
            insort(taken.setdefault(edit.file, []), (edit.start, edit.end))
        chosen.append(found)
    return chosen


def _meets(edit: Edit, taken: list[tuple[int, int]]) -> bool:
    """Whether an edit touches one of the stretches that are ``taken``, in order."""
    place = bisect(taken, (edit.start, edit.end))
    return any(edit.start <= end and start <= edit.end for start, end in taken[max(0, place - 1) : place + 1])


def _edited(findings: Iterable[Finding], texts: Texts) -> dict[str, str]:
    """The texts of files with the edits of all findings; files not at hand are left out."""
    by_file: dict[str, list[Edit]] = {}
    for found in findings:
        for edit in _edits(found):
            if edit.file in texts:
                by_file.setdefault(edit.file, []).append(edit)
    new: dict[str, str] = {}
    for file, edits in by_file.items():
        text, last = texts[file], 0
        pieces: list[str] = []
        for edit in sorted(edits, key=lambda edit: edit.start):
            pieces += (text[last : edit.start], edit.text)
            last = edit.end
        new[file] = "".join([*pieces, text[last:]])
    return new


def _starred(found: Finding) -> Finding:
    """The finding as its fix may be shown: with stars for what a secret one writes."""
    fix = found.fix
    if fix is None or not fix.secret:
        return found
    edits = (edit._replace(text=redact_spans(edit.text, [(0, len(edit.text))])) for edit in fix.edits)
    return found._replace(fix=fix._replace(edits=tuple(edits)))


def _failure(chosen: Sequence[Finding], before: Result, after: Result) -> str:
    """Why the fixes do not hold, or "": a finding is still there, or there is an error that was not.

    A document whose form is mended is looked at further than before: what is found then, elsewhere in it, was
    there all the time.
    """
    was, now = _counts(before), _counts(after)
    for (rule, file), number in Counter((found.rule, found.location.file) for found in chosen).items():
        if now[rule, file] > was[rule, file] - number:
            return f"{rule} would still be there"
    paths = {one.location.path for one in chosen}
    # A key that is renamed stands at another path afterwards.
    paths |= {(*one.location.path[:-1], edit.text) for one in chosen for edit in _edits(one)}
    of_form = all(found.rule.startswith(OF_FORM) for found in chosen)
    for found in after.repairs:
        key = found.rule, found.location.file
        new = found.severity is Severity.ERROR and now[key] > was[key]
        mends = found.fix is not None and found.fix.edits  # the next pass has it
        there = found.location.path in paths
        if new and not mends and (there or not of_form or found.rule.startswith("YAML")):
            return f"it would bring {found.rule}: {found.message}"
    return ""


def _counts(result: Result) -> Counter[tuple[str, str]]:
    return Counter((found.rule, found.location.file) for found in result.findings)


def _key(found: Finding) -> tuple[object, ...]:
    """A finding, wherever its line has moved to."""
    return found.rule, found.location.file, found.location.path, found.message
