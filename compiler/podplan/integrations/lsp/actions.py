"""Code actions: the fix of a finding, and all safe fixes of a file at once."""

from __future__ import annotations

from itertools import pairwise

from podplan.checker.check import Result
from podplan.core.findings import Finding
from podplan.core.text_diff import stretches
from podplan.core.typing import Any
from podplan.integrations.lsp.diagnostics import Places, diagnostic
from podplan.integrations.lsp.documents import Open
from podplan.integrations.lsp.positions import Encoding, lines, span
from podplan.integrations.lsp.workspace import Report, Workspace
from podplan.tools.fixer import repaired
from podplan.yaml.positions import LINE_BREAK

QUICK_FIX, FIX_ALL = "quickfix", "source.fixAll.podplan"

Action = dict[str, Any]


def wants(only: Any, kind: str) -> bool:
    """Whether a client that wants ``only`` some kinds wants this one."""
    if not isinstance(only, list):
        return True
    return any(
        isinstance(one, str) and (kind == one or kind.startswith(f"{one}.") or not one) for one in only
    )


def fixes(document: Open, where: tuple[int, int], report: Report, places: Places) -> list[Action]:
    """An action for each finding of a document with a fix, in the lines from ``where`` to ``where`` (0-based,
    both inclusive)."""
    first, last = where
    actions = []
    for file, findings in report.findings.items():
        if places.uri(file) != document.uri:
            continue
        for found in findings:
            near = found.location.line - 1 <= last and found.location.end_line - 1 >= first
            if near and found.fix is not None and found.fix.edits:
                actions.append(_action(found, places))
    return actions


def _action(found: Finding, places: Places) -> Action:
    fix = found.fix
    assert fix is not None
    changes: dict[str, list[Any]] = {}
    for edit in fix.edits:
        place = (edit.line, edit.column, edit.end_line, edit.end_column)
        changes.setdefault(places.uri(edit.file), []).append(
            {"range": places.stretch(edit.file, place), "newText": edit.text}
        )
    unsafe = "" if fix.safe else " (the job may do something else afterwards)"
    return {
        "title": f"{found.rule}: {fix.title}{unsafe}",
        "kind": QUICK_FIX,
        "diagnostics": [diagnostic(found, places)],
        "isPreferred": fix.safe,
        "edit": {"changes": changes},
    }


def safe_fixes(report: Report, document: Open, places: Places) -> int:
    """How many findings of a document could be fixed at once."""
    return sum(
        1
        for file, findings in report.findings.items()
        if places.uri(file) == document.uri
        for found in findings
        if found.fix is not None and found.fix.edits and found.fix.safe and _stays(found, file)
    )


def fix_all(document: Open, workspace: Workspace, encoding: Encoding) -> Action | None:
    """One action for all safe fixes that stay within a document, each tried before it counts."""

    def checked(texts: Any) -> Result:
        result = workspace.result([document.path], dict(texts))
        kept = [
            found
            if found.location.file == document.path and _stays(found, document.path)
            else found._replace(fix=None)
            for found in result.findings
        ]
        return result._replace(findings=kept, texts=dict(result.texts))

    new = repaired(checked, unsafe=False).texts.get(document.path)
    if new is None or new == document.text:
        return None
    return {
        "title": "podplan: fix all that is safe to fix",
        "kind": FIX_ALL,
        "edit": {"changes": {document.uri: differences(document.text, new, encoding)}},
    }


def _stays(found: Finding, file: str) -> bool:
    return found.fix is not None and all(edit.file == file for edit in found.fix.edits)


def differences(old: str, new: str, encoding: Encoding) -> list[dict[str, Any]]:
    """The edits, by whole lines, that make one text of another."""
    before, after, bare = _with_breaks(old), _with_breaks(new), lines(old)

    def start_of(number: int) -> tuple[int, int]:
        return (number + 1, 1) if number < len(bare) else (len(bare), len(bare[-1]) + 1)

    return [
        {"range": span(bare, (*start_of(a), *start_of(b)), encoding), "newText": "".join(after[c:d])}
        for a, b, c, d in stretches(before, after)
    ]


def _with_breaks(text: str) -> list[str]:
    """The lines of a text with their breaks; the last one is without, and may be empty."""
    ends = [match.end() for match in LINE_BREAK.finditer(text)]
    return [text[start:end] for start, end in pairwise((0, *ends, len(text)))]
