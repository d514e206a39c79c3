"""Applies fixes of findings to the texts of files, and verifies each by checking the result.

Nothing is written here. After every pass the files are checked with their new texts; a fix whose finding
remains, or that adds errors, is withdrawn.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from podplan.checker.check import CheckResult, WatchProgress, check_files
from podplan.core.findings import Edit, Finding, Fix, Severity
from podplan.core.typing import NamedTuple
from podplan.pipeline import PipelineSettings
from podplan.redaction.redactor import redact_spans
from podplan.workspace.loader import Loader

MAX_PASSES = 20
FORM_RULE_PREFIXES = ("YAML", "SCHEMA", "PROF0")

FileTexts = Mapping[str, str]
CheckTexts = Callable[[FileTexts], CheckResult]


class FixResult(NamedTuple):
    """The result after fixing; ``texts`` and ``before`` are the texts of the files that changed.

    ``withdrawn`` are fixes that failed, each with the reason. ``shown`` are the texts before and after with
    secrets redacted, without files that may not be shown at all.
    """

    result: CheckResult
    texts: dict[str, str]
    before: dict[str, str]
    fixed: tuple[Finding, ...]
    withdrawn: tuple[tuple[Finding, str], ...]
    shown: dict[str, tuple[str, str]]


def fix_files(
    paths: Sequence[str],
    settings: PipelineSettings,
    exclude: Sequence[str],
    unsafe: bool,
    watch: WatchProgress | None = None,
) -> FixResult:
    """Fix the files that ``paths`` match, as far as possible. Raises what ``check_files`` raises."""

    def check_texts(texts: FileTexts) -> CheckResult:
        reader = Loader(exclude=exclude, unsaved_texts=texts, named_files=paths)
        return check_files(paths, settings, reader, exclude, watch)

    return fix_texts(check_texts, unsafe)


def fix_texts(check_texts: CheckTexts, unsafe: bool) -> FixResult:
    """Fix anything that can be checked with other texts in place of files."""
    texts: dict[str, str] = {}
    before: dict[str, str] = {}
    fixed: list[Finding] = []
    withdrawn: list[tuple[Finding, str]] = []
    shown: dict[str, tuple[str, str]] = {}
    result = check_texts(texts)
    for _ in range(MAX_PASSES):
        rejected_keys = {_identify_finding(found) for found, _ in withdrawn}
        applicable = [
            found
            for found in result.fixable_findings
            if _is_applicable(found, unsafe) and _identify_finding(found) not in rejected_keys
        ]
        chosen = _select_disjoint(applicable)
        if not chosen:
            break
        before = dict(result.original_texts) | before

        def try_fixes(
            fixes: Sequence[Finding], texts: FileTexts = texts, result: CheckResult = result
        ) -> CheckResult | str:
            after = check_texts({**texts, **_apply_edits(fixes, result.original_texts)})
            return _find_failure(fixes, result, after) or after

        chosen, after = _keep_successful(chosen, [], result, try_fixes, withdrawn)
        if chosen:  # conflicts with other fixes may be resolved now
            withdrawn.clear()
        texts = texts | _apply_edits(chosen, result.original_texts)
        for file, text in _apply_edits(
            [_redact_fix(found) for found in chosen], result.redacted_texts
        ).items():
            shown[file] = (shown[file][0] if file in shown else result.redacted_texts[file], text)
        fixed += chosen
        result = after
    before = {file: before[file] for file in texts}
    return FixResult(result, texts, before, tuple(fixed), tuple(withdrawn), shown)


def _keep_successful(
    fixes: list[Finding],
    accepted: list[Finding],
    last: CheckResult,
    try_fixes: Callable[[Sequence[Finding]], CheckResult | str],
    withdrawn: list[tuple[Finding, str]],
) -> tuple[list[Finding], CheckResult]:
    """Return ``accepted`` with the fixes that succeed in addition, and the check result; withdraw the others.

    A failing set is split in halves, so that one bad fix among many costs a few checks, not one for each.
    """
    after = try_fixes([*accepted, *fixes])
    if isinstance(after, CheckResult):
        return [*accepted, *fixes], after
    if len(fixes) == 1:
        withdrawn.append((fixes[0], after))
        return accepted, last
    middle = len(fixes) // 2
    accepted, last = _keep_successful(fixes[:middle], accepted, last, try_fixes, withdrawn)
    return _keep_successful(fixes[middle:], accepted, last, try_fixes, withdrawn)


def _is_applicable(finding: Finding, unsafe: bool) -> bool:
    return finding.fix is not None and bool(finding.fix.edits) and (finding.fix.safe or unsafe)


def _get_edits(finding: Finding) -> tuple[Edit, ...]:
    fix = finding.fix
    assert isinstance(fix, Fix)
    return fix.edits


def _select_disjoint(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings whose edits do not touch those of earlier ones; the others wait for the next
    pass."""
    taken_spans: dict[str, list[tuple[int, int]]] = {}
    chosen = []
    for finding in findings:
        edits = _get_edits(finding)
        if any(_overlaps_any(edit, taken_spans.get(edit.file, [])) for edit in edits):
            continue
        for edit in edits:
            insort(taken_spans.setdefault(edit.file, []), (edit.start, edit.end))
        chosen.append(finding)
    return chosen


def _overlaps_any(edit: Edit, taken_spans: list[tuple[int, int]]) -> bool:
    """Whether an edit touches one of the ``taken_spans``, which are sorted."""
    index = bisect(taken_spans, (edit.start, edit.end))
    return any(
        edit.start <= end and start <= edit.end for start, end in taken_spans[max(0, index - 1) : index + 1]
    )


def _apply_edits(findings: Iterable[Finding], texts: FileTexts) -> dict[str, str]:
    """Return the texts of files with the edits of all findings; files without a text are skipped."""
    by_file: dict[str, list[Edit]] = {}
    for finding in findings:
        for edit in _get_edits(finding):
            if edit.file in texts:
                by_file.setdefault(edit.file, []).append(edit)
    new_texts: dict[str, str] = {}
    for file, edits in by_file.items():
        text, last = texts[file], 0
        pieces: list[str] = []
        for edit in sorted(edits, key=lambda edit: edit.start):
            pieces += (text[last : edit.start], edit.text)
            last = edit.end
        new_texts[file] = "".join([*pieces, text[last:]])
    return new_texts


def _redact_fix(finding: Finding) -> Finding:
    """Return the finding with its secret edits redacted."""
    fix = finding.fix
    if fix is None or not fix.contains_secret:
        return finding
    edits = (edit._replace(text=redact_spans(edit.text, [(0, len(edit.text))])) for edit in fix.edits)
    return finding._replace(fix=fix._replace(edits=tuple(edits)))


def _find_failure(chosen: Sequence[Finding], before: CheckResult, after: CheckResult) -> str:
    """Return why the fixes fail, or "": a finding remains, or there is a new error.

    After a fix of a schema error more of the document is checked: findings elsewhere in it are not new.
    """
    old_counts, new_counts = _count_findings(before), _count_findings(after)
    for (rule, file), number in Counter((found.rule, found.location.file) for found in chosen).items():
        if new_counts[rule, file] > old_counts[rule, file] - number:
            return f"{rule} would still be there"
    paths = {one.location.path for one in chosen}
    # A renamed key has another path afterwards.
    paths |= {(*one.location.path[:-1], edit.text) for one in chosen for edit in _get_edits(one)}
    fixes_form = all(found.rule.startswith(FORM_RULE_PREFIXES) for found in chosen)
    for finding in after.fixable_findings:
        key = finding.rule, finding.location.file
        is_new_error = finding.severity is Severity.ERROR and new_counts[key] > old_counts[key]
        has_fix = finding.fix is not None and finding.fix.edits  # the next pass fixes it
        is_same_path = finding.location.path in paths
        if (
            is_new_error
            and not has_fix
            and (is_same_path or not fixes_form or finding.rule.startswith("YAML"))
        ):
            return f"it would bring {finding.rule}: {finding.message}"
    return ""


def _count_findings(result: CheckResult) -> Counter[tuple[str, str]]:
    return Counter((found.rule, found.location.file) for found in result.findings)


def _identify_finding(finding: Finding) -> tuple[object, ...]:
    """Return the identity of a finding, independent of its line."""
    return finding.rule, finding.location.file, finding.location.path, finding.message
