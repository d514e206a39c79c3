"""Workflow commands of GitHub Actions: annotations at the lines of a pull request.

A step shows ten annotations of a level, and of each 4,096 characters (gitops-integrations §5.2). A line that
begins with ``::``, or has ``##[`` in it, is a command to the runner: text from files is escaped and never
begins a line.
"""

from __future__ import annotations

import re

from podplan.check import Result
from podplan.findings import Finding, Severity
from podplan.reading.files import from_root
from podplan.report.order import important_first
from podplan.report.summary import summary_line
from podplan.report.visible import visible

MAX_OF_LEVEL = 10
MAX_CHARACTERS = 4096
_HALF_ESCAPE = re.compile("%[0-9A-F]?$")
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(result: Result) -> str:
    """Annotations, the most important first; one that counts those without room; and the summary as text."""
    shown: list[Finding] = []
    left_out = 0
    for severity in LEVELS:
        of_level = [found for found in important_first(result.findings) if found.severity == severity]
        room = MAX_OF_LEVEL - (severity == Severity.INFO)  # one notice is kept for the count
        shown += of_level[:room]
        left_out += len(of_level[room:])
    lines = [_annotation(found) for found in shown]
    if left_out:
        lines.append(
            f"::notice title=podplan::{left_out} more findings have no room here: see the summary or the log"
        )
    return "".join(f"{line}\n" for line in [*lines, _data(summary_line(result)).replace("##[", "## [")])


def _annotation(found: Finding) -> str:
    where = found.location
    properties = {"file": from_root(where.file), "line": where.line, "endLine": where.end_line}
    if where.line == where.end_line:  # else the runner drops the columns, and says so
        properties |= {"col": where.column, "endColumn": where.end_column}
    properties["title"] = f"{found.rule} {found.name}"
    told = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{LEVELS[found.severity]} {told}::{_message(found)}"


def _message(found: Finding) -> str:
    parts = [found.message]
    if found.instances is not None:
        parts.append(f"in {found.instances.hit} of {found.instances.of} instances")
    if found.help:
        parts.append(f"help: {found.help}")
    text = _data("\n".join(visible(part) for part in parts)).replace("##[", "## [")
    return text if len(text) <= MAX_CHARACTERS else _HALF_ESCAPE.sub("", text[: MAX_CHARACTERS - 1]) + "…"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C").replace("##[", "## [")
