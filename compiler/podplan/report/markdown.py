"""Markdown for a job summary or a comment in a pull request; no text from files is markup or a mention."""

from __future__ import annotations

import re

from podplan.checker.check import Result
from podplan.core.findings import Finding, Severity
from podplan.core.truncation import shortened
from podplan.report.priority import important_first
from podplan.report.sanitization import visible
from podplan.report.summary import summary_line
from podplan.workspace.files import from_root

MAX_CHARACTERS = 60_000  # a comment may have 65,536
MAX_LINE = 1_000
_MARKUP = re.compile(r"[\\`*_\[\]|~$@#]")
# GitHub makes mentions, references and links of what it reads, after all references to characters are read.
_LINKED = re.compile(r"(?<=[@#])(?=\w)|(?<=\bGH-)(?=\d)|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
_APART = "\u200b"  # what cannot be seen, and visible() leaves none of strangers
MARKS = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.INFO: "ℹ️"}


def render(result: Result) -> str:
    """A heading, a table of errors and warnings, and the infos folded away."""
    findings = important_first(result.findings)
    serious = [found for found in findings if found.severity > Severity.INFO]
    infos = [found for found in findings if found.severity == Severity.INFO]
    mark = MARKS[findings[0].severity] if findings else "✅"
    text = f"### {mark} podplan\n\n{plain(summary_line(result))}\n"
    room = MAX_CHARACTERS - len(text) - 500
    text += _table(serious, room)
    room -= len(text)
    if infos:
        table = _table(infos, room)
        text += f"\n<details><summary>{len(infos)} infos</summary>\n{table}\n</details>\n"
    return text


def _table(findings: list[Finding], room: int) -> str:
    if not findings:
        return ""
    rows = ["\n| | place | rule | what |\n|---|---|---|---|\n"]
    for number, found in enumerate(findings):
        row = _row(found)
        room -= len(row)
        if room < 0:
            rows.append(f"\n{len(findings) - number} more have no room here\n")
            break
        rows.append(row)
    return "".join(rows)


def _row(found: Finding) -> str:
    where = found.location
    place = code(f"{from_root(where.file)}:{where.line}")
    said = plain(found.message)
    if found.instances is not None:
        said += f" (in {found.instances.hit} of {found.instances.of} instances)"
    if found.help:
        said += f"<br>help: {plain(found.help)}"
    return f"| {MARKS[found.severity]} | {place} | {found.rule} {plain(found.name)} | {said} |\n"


def plain(text: str) -> str:
    """``text`` as it reads: no markup, mention or link, and characters of markup as references."""
    apart = _LINKED.sub(_APART, visible(shortened(text, MAX_LINE)))
    escaped = apart.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", escaped).replace(_APART, "&#8203;")


def code(text: str) -> str:
    """``text`` as code inside of a table; HTML, since a backtick cannot be escaped between backticks."""
    return f"<code>{plain(text)}</code>"
