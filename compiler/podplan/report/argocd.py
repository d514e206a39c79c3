"""What Argo CD has room for when a plugin fails: a few short lines, the most important first."""

from __future__ import annotations

from podplan.checker.check import Result
from podplan.core.truncation import shortened
from podplan.report.priority import important_first
from podplan.report.sanitization import visible
from podplan.report.summary import summary_line

MAX_LINES = 10
MAX_COLUMNS = 240


def render(result: Result) -> str:
    """The summary, then up to ten errors and warnings, a line each, and how many more there are."""
    told = [found for found in important_first(result.findings) if found.severity]
    lines = [
        f"{found.severity} {found.rule} {found.location.file}:{found.location.line}: {found.message}"
        for found in told[:MAX_LINES]
    ]
    if len(told) > MAX_LINES:
        lines.append(f"and {len(told) - MAX_LINES} more: podplan check shows them all")
    lines = [summary_line(result), *lines]
    return "".join(shortened(visible(line), MAX_COLUMNS) + "\n" for line in lines)
