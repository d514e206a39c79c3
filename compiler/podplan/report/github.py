"""Annotations of GitHub Actions, at the lines of a pull request, and the summary as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from podplan.checker.check import Result
from podplan.core.findings import Finding, Severity
from podplan.report.priority import important_first
from podplan.report.summary import summary_line
from podplan.report.workflow_commands import MAX_OF_LEVEL, annotation, log_line
from podplan.workspace.files import from_root

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(result: Result, used: Iterable[str] = ()) -> str:
    """Annotations, the most important first; one that counts those without room; and the summary as text.

    ``used`` are the levels of the annotations that the step has besides.
    """
    taken = Counter(used)
    taken["notice"] += 1  # for the count
    shown: list[Finding] = []
    left_out = 0
    for severity, level in LEVELS.items():
        of_level = [found for found in important_first(result.findings) if found.severity == severity]
        room = max(MAX_OF_LEVEL - taken[level], 0)
        shown += of_level[:room]
        left_out += len(of_level[room:])
    lines = [_annotation(found) for found in shown]
    if left_out:
        said = f"{left_out} more findings have no room here: see the summary or the log"
        lines.append(annotation("notice", said, title="podplan"))
    return "".join(f"{line}\n" for line in [*lines, log_line(summary_line(result))])


def _annotation(found: Finding) -> str:
    where = found.location
    properties: dict[str, str | int] = {"file": from_root(where.file), "line": where.line}
    properties["endLine"] = where.end_line
    if where.line == where.end_line:  # else the runner drops the columns, and says so
        properties |= {"col": where.column, "endColumn": where.end_column}
    properties["title"] = f"{found.rule} {found.name}"
    return annotation(LEVELS[found.severity], _message(found), **properties)


def _message(found: Finding) -> str:
    parts = [found.message.replace("\n", "\\n")]
    if found.instances is not None:
        parts.append(f"in {found.instances.hit} of {found.instances.of} instances")
    if found.help:
        parts.append(f"help: {found.help}".replace("\n", "\\n"))
    return "\n".join(parts)
