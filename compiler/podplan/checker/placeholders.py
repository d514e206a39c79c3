"""Findings about values that another tool fills in, such as ``${IMAGE}``: they say nothing about the job."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Finding, Location
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any
from podplan.workspace.templates import find_placeholders
from podplan.yaml.positions import LINE_BREAK

# What is counted as not checked.
PLACEHOLDERS = "document with placeholders: what depends on them"
# $NAME in these is meant for a shell, and often a mistake.
SHELL_FIELDS = frozenset(
    {
        "command",
        "args",
        "env",
        "workingDir",
        "run",
        "customCommand",
        "otherArgs",
        "torchrunConfig",
        "torchConfig",
    }
)


def is_about_placeholder(finding: Finding, doc: TracedDocument) -> bool:
    """Whether a finding points at a value with a placeholder in a document, or follows from one.

    A value that follows from one, such as the name of a Pod, has it in the message.
    """
    source = doc.source
    if source is None or (not any(mark in source.text for mark in ("$", "<", "{{", "%"))):
        return False
    if any(
        location.file == source.file
        and not SHELL_FIELDS.intersection(location.path)
        and find_placeholders(_read_line_part(source.text, location))
        for location in (finding.location, *(related.location for related in finding.related))
    ):
        return True
    quoted = find_placeholders(finding.message)
    return bool(quoted) and not quoted.isdisjoint(_iter_placeholders(doc.data))


def _read_line_part(text: str, location: Location) -> str:
    """Return the text at a location, "" if it has several lines: it is a mapping, a list or a script."""
    if location.line != location.end_line:
        return ""
    line = LINE_BREAK.split(text.removeprefix("\ufeff"), location.line)[location.line - 1]
    return line[location.column - 1 : location.end_column - 1]


def _iter_placeholders(data: Any) -> Iterator[str]:
    """Yield the placeholders in the values of a document, except in command lines and variables."""
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += (below for key, below in value.items() if key not in SHELL_FIELDS)
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str):
            yield from find_placeholders(value)
