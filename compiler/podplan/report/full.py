"""The default format for people: each finding with code frames, then the summary."""

from __future__ import annotations

from podplan.checker.check import CheckResult
from podplan.report.summary import format_summary
from podplan.report.terminal_style import PLAIN, Style


def render(result: CheckResult, style: Style = PLAIN) -> str:
    """Render errors and warnings with code frames, infos on one line each, and the summary."""
    blocks: list[str] = []
    if result.findings:
        from podplan.report.finding_blocks import format_findings

        blocks = format_findings(result, style)
    if style.has_summary:
        blocks.append(format_summary(result, with_hints=True, lists_kinds=style.lists_kinds))
    return "\n\n".join(blocks) + "\n" if blocks else ""
