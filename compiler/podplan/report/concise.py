"""One line per finding: path:line:column: severity CODE message."""

from __future__ import annotations

from podplan.checker.check import CheckResult
from podplan.core.findings import Finding
from podplan.report.sanitization import escape_text, truncate_text
from podplan.report.summary import format_summary
from podplan.report.terminal_style import BOLD, PLAIN, SEVERITY_STYLES, Style
from podplan.report.users import format_users


def render(result: CheckResult, style: Style = PLAIN) -> str:
    """Render a line for each finding, and the summary."""
    summary = (
        [format_summary(result, with_hints=True, lists_kinds=style.lists_kinds)] if style.has_summary else []
    )
    lines = [*(_format_finding_line(found, style) for found in result.findings), *summary]
    return "".join(f"{line}\n" for line in lines)


def _format_finding_line(finding: Finding, style: Style) -> str:
    location = finding.location
    location_text = style.paint(escape_text(f"{location.file}:{location.line}:{location.column}:"), BOLD)
    severity = style.paint(f"{finding.severity} {finding.rule}", SEVERITY_STYLES[finding.severity])
    users = format_users(finding)
    suffix = f" ({escape_text(users)})" if users else ""
    return f"{location_text} {severity} {escape_text(truncate_text(finding.message))}{suffix}"
