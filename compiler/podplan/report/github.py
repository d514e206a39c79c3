"""Annotations of GitHub Actions at lines of a pull request, and the summary as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from podplan.checker.check import CheckResult
from podplan.core.findings import Finding, Severity
from podplan.report.priority import sort_by_severity
from podplan.report.summary import format_summary
from podplan.report.users import format_users
from podplan.report.workflow_commands import MAX_ANNOTATIONS_PER_LEVEL, format_annotation, format_log_line
from podplan.workspace.files import relative_to_root

ANNOTATION_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(result: CheckResult, used_levels: Iterable[str] = (), unselected: int = 0) -> str:
    """Render annotations, the most important first; one with the number of omitted ones; and the summary.

    ``unselected`` is the number of further findings, which a change did not cause. ``used_levels`` are the
    levels of other annotations of the same step, which count against its limit.
    """
    annotation_counts = Counter(used_levels)
    annotation_counts["notice"] += 1 + bool(unselected)  # for the numbers of omitted ones
    shown_findings: list[Finding] = []
    omitted = 0
    for severity, level in ANNOTATION_LEVELS.items():
        level_findings = [found for found in sort_by_severity(result.findings) if found.severity == severity]
        remaining = max(MAX_ANNOTATIONS_PER_LEVEL - annotation_counts[level], 0)
        shown_findings += level_findings[:remaining]
        omitted += len(level_findings[remaining:])
    lines = [_build_annotation(found) for found in shown_findings]
    if unselected:
        noun = "finding is" if unselected == 1 else "findings are"
        message = f"{unselected} more {noun} not of this change: see the summary or the log"
        lines.append(format_annotation("notice", message, title="podplan"))
    if omitted:
        message = f"{omitted} more findings have no room here: see the summary or the log"
        lines.append(format_annotation("notice", message, title="podplan"))
    return "".join(f"{line}\n" for line in [*lines, format_log_line(format_summary(result))])


def _build_annotation(finding: Finding) -> str:
    location = finding.location
    properties: dict[str, str | int] = {"file": relative_to_root(location.file), "line": location.line}
    properties["endLine"] = location.end_line
    if location.line == location.end_line:  # otherwise the runner ignores the columns, with a message
        properties |= {"col": location.column, "endColumn": location.end_column}
    properties["title"] = f"{finding.rule} {finding.name}"
    return format_annotation(ANNOTATION_LEVELS[finding.severity], _format_message(finding), **properties)


def _format_message(finding: Finding) -> str:
    parts = [finding.message.replace("\n", "\\n")]
    if users := format_users(finding):
        parts.append(users)
    elif finding.instances is not None:
        parts.append(f"in {finding.instances.hit} of {finding.instances.of} instances")
    if finding.help:
        parts.append(f"help: {finding.help}".replace("\n", "\\n"))
    return "\n".join(parts)
