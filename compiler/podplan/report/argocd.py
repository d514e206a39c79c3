"""Findings for Argo CD, which shows a few short lines when a plugin fails: the most important first."""

from __future__ import annotations

from podplan.checker.check import CheckResult
from podplan.core.truncation import truncate
from podplan.report.priority import sort_by_severity
from podplan.report.sanitization import escape_text
from podplan.report.summary import format_summary

MAX_LINES = 10
MAX_COLUMNS = 240


def render(result: CheckResult) -> str:
    """Render the summary, then up to ten errors and warnings, one per line, and the number of others."""
    shown_findings = [found for found in sort_by_severity(result.findings) if found.severity]
    lines = [
        f"{found.severity} {found.rule} {found.location.file}:{found.location.line}: {found.message}"
        for found in shown_findings[:MAX_LINES]
    ]
    if len(shown_findings) > MAX_LINES:
        lines.append(f"and {len(shown_findings) - MAX_LINES} more: podplan check shows them all")
    lines = [format_summary(result), *lines]
    return "".join(truncate(escape_text(line), MAX_COLUMNS) + "\n" for line in lines)
