"""Code actions: the fix of a finding, and all safe fixes of a file at once."""

from __future__ import annotations

from itertools import pairwise

from podplan.checker.check import CheckResult
from podplan.core.findings import Finding
from podplan.core.text_diff import iter_diff_ranges
from podplan.core.typing import Any
from podplan.integrations.lsp.diagnostics import RangeMapper, build_diagnostic
from podplan.integrations.lsp.documents import OpenDocument
from podplan.integrations.lsp.positions import Encoding, split_lines, to_protocol_range
from podplan.integrations.lsp.workspace import CheckReport, Workspace
from podplan.tools.fixer import fix_texts
from podplan.yaml.positions import LINE_BREAK

QUICK_FIX, FIX_ALL = "quickfix", "source.fixAll.podplan"

Action = dict[str, Any]


def accepts_kind(only: Any, kind: str) -> bool:
    """Whether a client that requests the kinds in ``only`` accepts this one."""
    if not isinstance(only, list):
        return True
    return any(
        isinstance(one, str) and (kind == one or kind.startswith(f"{one}.") or not one) for one in only
    )


def build_quick_fixes(
    document: OpenDocument, line_range: tuple[int, int], report: CheckReport, ranges: RangeMapper
) -> list[Action]:
    """Build an action for each finding of a document with a fix in ``line_range`` (0-based, both
    inclusive)."""
    first, last = line_range
    actions = []
    for file, findings in report.findings.items():
        if ranges.uri(file) != document.uri:
            continue
        for finding in findings:
            overlaps = finding.location.line - 1 <= last and finding.location.end_line - 1 >= first
            if overlaps and finding.fix is not None and finding.fix.edits:
                actions.append(_build_quick_fix(finding, ranges))
    return actions


def _build_quick_fix(finding: Finding, ranges: RangeMapper) -> Action:
    fix = finding.fix
    assert fix is not None
    changes: dict[str, list[Any]] = {}
    for edit in fix.edits:
        edit_range = (edit.line, edit.column, edit.end_line, edit.end_column)
        changes.setdefault(ranges.uri(edit.file), []).append(
            {"range": ranges.map_span(edit.file, edit_range), "newText": edit.text}
        )
    unsafe = "" if fix.safe else " (the job may do something else afterwards)"
    return {
        "title": f"{finding.rule}: {fix.title}{unsafe}",
        "kind": QUICK_FIX,
        "diagnostics": [build_diagnostic(finding, ranges)],
        "isPreferred": fix.safe,
        "edit": {"changes": changes},
    }


def count_safe_fixes(report: CheckReport, document: OpenDocument, ranges: RangeMapper) -> int:
    """Count the findings of a document with a safe fix."""
    return sum(
        1
        for file, findings in report.findings.items()
        if ranges.uri(file) == document.uri
        for found in findings
        if found.fix is not None and found.fix.edits and found.fix.safe and _stays_in_file(found, file)
    )


def build_fix_all(document: OpenDocument, workspace: Workspace, encoding: Encoding) -> Action | None:
    """Build one action for all safe fixes in a document, each verified."""

    def check_texts(texts: Any) -> CheckResult:
        result = workspace.check_files([document.path], dict(texts))
        kept = [
            found
            if found.location.file == document.path and _stays_in_file(found, document.path)
            else found._replace(fix=None)
            for found in result.findings
        ]
        return result._replace(findings=kept, redacted_texts=dict(result.redacted_texts))

    new_text = fix_texts(check_texts, unsafe=False).texts.get(document.path)
    if new_text is None or new_text == document.text:
        return None
    return {
        "title": "podplan: fix all that is safe to fix",
        "kind": FIX_ALL,
        "edit": {"changes": {document.uri: build_text_edits(document.text, new_text, encoding)}},
    }


def _stays_in_file(finding: Finding, file: str) -> bool:
    return finding.fix is not None and all(edit.file == file for edit in finding.fix.edits)


def build_text_edits(old: str, new: str, encoding: Encoding) -> list[dict[str, Any]]:
    """Return the edits, by whole lines, that change one text into another."""
    before, after, bare_lines = _split_keeping_breaks(old), _split_keeping_breaks(new), split_lines(old)

    def start_of(number: int) -> tuple[int, int]:
        return (number + 1, 1) if number < len(bare_lines) else (len(bare_lines), len(bare_lines[-1]) + 1)

    return [
        {
            "range": to_protocol_range(bare_lines, (*start_of(a), *start_of(b)), encoding),
            "newText": "".join(after[c:d]),
        }
        for a, b, c, d in iter_diff_ranges(before, after)
    ]


def _split_keeping_breaks(text: str) -> list[str]:
    """Return the lines of a text with their line breaks; the last one has none, and may be empty."""
    ends = [match.end() for match in LINE_BREAK.finditer(text)]
    return [text[start:end] for start, end in pairwise((0, *ends, len(text)))]
