"""One line per finding: path:line:column: severity CODE message."""

from __future__ import annotations

from podplan.check import Result
from podplan.report.summary import summary_line


def render(result: Result) -> str:
    """A line for each finding, and a line that sums up."""
    lines = [
        f"{found.location.file}:{found.location.line}:{found.location.column}: "
        f"{found.severity} {found.rule} {found.message}"
        for found in result.findings
    ]
    return "\n".join([*lines, summary_line(result)]) + "\n"
