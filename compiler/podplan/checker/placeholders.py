"""Findings about values that another tool fills in, such as ``${IMAGE}``: they say nothing about the job."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.core.findings import Diagnostic, Finding, Location
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.lint.location import find_source_location
from podplan.workspace.templates import (
    find_placeholders,
    find_workflow_placeholders,
    is_variable_name,
    iter_placeholders,
)
from podplan.yaml.positions import LINE_BREAK

# What is counted as not checked.
PLACEHOLDERS = "document with placeholders: what depends on them"
# Rules about the form of a value, where $(model-name) is no reference to a variable of Kubernetes.
_VALUE_RULES = frozenset({"SCHEMA002", "SCHEMA004", "SCHEMA006"})
# Rules about numbers, names and references of images, where no name of a variable is right.
_VARIABLE_RULES = frozenset({"SCHEMA002", "SCHEMA006", "IMG001", "IMG002", "IMG003", "IMG004", "IMG005"})
_PARAMETER = compile_lazily(r"\$\([A-Za-z]\w*[-.][^()\n]*\)")
# The values of a Secret, which another tool often fills in: findings are about its keys.
_SECRET_VALUES = ("stringData",)
# The files of a ConfigMap: findings are about scripts in them, where $NAME is a variable of the shell.
_FILES = ("data",)
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
    locations = [finding.location, *(related.location for related in finding.related)]
    return _concerns_placeholder(finding.rule, finding.message, locations, doc)


def is_diagnostic_about_placeholder(diagnostic: Diagnostic, doc: TracedDocument) -> bool:
    """The same for a diagnostic of a document that is written, or of an object that is lowered from it."""
    paths = [diagnostic.path, *(path for path, _ in diagnostic.related)]
    found = [find_source_location(diagnostic.doc, path) for path in paths if diagnostic.doc is not None]
    locations = [one.location for one in found if one is not None]
    return _concerns_placeholder(diagnostic.rule, diagnostic.message, locations, doc)


def _concerns_placeholder(
    rule: str, message: str, locations: Iterable[Location], doc: TracedDocument
) -> bool:
    source = doc.source
    if source is None:
        return False
    if any(
        _is_placeholder(_read_line_part(source.text, location), rule, location)
        for location in locations
        if location.file == source.file
    ):
        return True
    quoted = find_placeholders(message)
    return bool(quoted) and not quoted.isdisjoint(iter_placeholders(doc.data, SHELL_FIELDS))


def _is_placeholder(text: str, rule: str, location: Location) -> bool:
    """Whether another tool fills in a part of the text at a location."""
    if not SHELL_FIELDS.isdisjoint(location.path) or location.path[:1] in (_SECRET_VALUES, _FILES):
        return bool(find_workflow_placeholders(text))
    return (
        bool(find_placeholders(text))
        or (rule in _VALUE_RULES and _PARAMETER.search(text) is not None)
        or (rule in _VARIABLE_RULES and is_variable_name(text))
    )


def _read_line_part(text: str, location: Location) -> str:
    """Return the text at a location, "" if it has several lines: it is a mapping, a list or a script."""
    if location.line != location.end_line:
        return ""
    line = LINE_BREAK.split(text.removeprefix("\ufeff"), location.line)[location.line - 1]
    return line[location.column - 1 : location.end_column - 1]
