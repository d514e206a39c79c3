"""One line per finding: path:line:column: severity CODE message."""

from __future__ import annotations

from podplan.checker.check import Result
from podplan.core.findings import Finding
from podplan.report.sanitization import cut, visible
from podplan.report.summary import summary_line
from podplan.report.terminal_style import BOLD, PLAIN, SEVERITIES, Style


def render(result: Result, style: Style = PLAIN) -> str:
    """A line for each finding, and a line that sums up."""
    return "\n".join([*(_line(found, style) for found in result.findings), summary_line(result)]) + "\n"


def _line(found: Finding, style: Style) -> str:
    where = found.location
    place = style.paint(visible(f"{where.file}:{where.line}:{where.column}:"), BOLD)
    severity = style.paint(f"{found.severity} {found.rule}", SEVERITIES[found.severity])
    return f"{place} {severity} {visible(cut(found.message))}"
