"""Markdown for a job summary or a comment in a pull request; text from files is neither markup nor a
mention."""

from __future__ import annotations

import re

from podplan.checker.check import CheckResult
from podplan.core.findings import Finding, Severity
from podplan.core.truncation import truncate
from podplan.core.wording import format_count
from podplan.report.priority import sort_by_severity
from podplan.report.sanitization import escape_text
from podplan.report.summary import format_summary
from podplan.workspace.files import relative_to_root

MAX_CHARACTERS = 60_000  # a comment may have 65,536
MAX_LINE = 1_000
_MARKUP = re.compile(r"[\\`*_\[\]|~$@#]")
# GitHub detects mentions, references and links after it has decoded character references.
_AUTOLINK = re.compile(r"(?<=[@#])(?=\w)|(?<=\bGH-)(?=\d)|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
_SEPARATOR = "\u200b"  # invisible; escape_text() removes those in untrusted input
SEVERITY_MARKS = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.INFO: "ℹ️"}


def render(result: CheckResult) -> str:
    """Render a heading, a table of errors and warnings, and the infos collapsed."""
    return render_selected(result, result.findings)


def render_selected(result: CheckResult, selected: list[Finding]) -> str:
    """Render a heading, a table of the selected errors and warnings, and all others collapsed."""
    selected_ids = {id(one) for one in selected}
    findings = sort_by_severity(selected)
    others = sort_by_severity(one for one in result.findings if id(one) not in selected_ids)
    errors_and_warnings = [found for found in findings if found.severity > Severity.INFO]
    infos = [found for found in findings if found.severity == Severity.INFO]
    most_severe = next(iter(sort_by_severity(result.findings)), None)
    mark = SEVERITY_MARKS[most_severe.severity] if most_severe is not None else "✅"
    text = f"### {mark} podplan\n\n{escape_markdown(format_summary(result))}\n"
    remaining = MAX_CHARACTERS - len(text) - 500
    text += _render_table(errors_and_warnings, remaining)
    remaining -= len(text)
    other_noun = "finding is" if len(others) == 1 else "findings are"
    for collapsed, title in (
        (infos, format_count(len(infos), "info")),
        (others, f"{len(others)} {other_noun} not of this change"),
    ):
        if collapsed:
            table = _render_table(collapsed, remaining)
            text += f"\n<details><summary>{title}</summary>\n{table}\n</details>\n"
            remaining -= len(table)
    return text


def _render_table(findings: list[Finding], max_length: int) -> str:
    if not findings:
        return ""
    rows = ["\n| | place | rule | what |\n|---|---|---|---|\n"]
    for number, finding in enumerate(findings):
        row = _render_row(finding)
        max_length -= len(row)
        if max_length < 0:
            rows.append(f"\n{len(findings) - number} more have no room here\n")
            break
        rows.append(row)
    return "".join(rows)


def _render_row(finding: Finding) -> str:
    location = finding.location
    location_cell = format_code(f"{relative_to_root(location.file)}:{location.line}")
    message_cell = escape_markdown(finding.message)
    if finding.instances is not None:
        message_cell += f" (in {finding.instances.hit} of {finding.instances.of} instances)"
    if finding.help:
        message_cell += f"<br>help: {escape_markdown(finding.help)}"
    return (
        f"| {SEVERITY_MARKS[finding.severity]} | {location_cell} | {finding.rule}"
        f" {escape_markdown(finding.name)} | {message_cell} |\n"
    )


def escape_markdown(text: str) -> str:
    """Escape ``text``, so that it contains no markup, mention or link."""
    separated = _AUTOLINK.sub(_SEPARATOR, escape_text(truncate(text, MAX_LINE)))
    escaped = separated.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", escaped).replace(_SEPARATOR, "&#8203;")


def format_code(text: str) -> str:
    """Format ``text`` as code inside a table, in HTML, because a backtick cannot be escaped between
    backticks."""
    return f"<code>{escape_markdown(text)}</code>"
