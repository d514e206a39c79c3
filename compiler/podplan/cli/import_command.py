"""podplan import"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import click

from podplan.checker.check import summarised
from podplan.cli.exit_codes import CLEAN, FINDINGS, NOTHING
from podplan.cli.output import replace_file, say, tell, write
from podplan.cli.shell_completion import files
from podplan.core.errors import RequestError
from podplan.core.findings import Finding, Problem, Severity
from podplan.core.provenance import Doc, trace
from podplan.core.typing import Any
from podplan.lint.redaction import redactor_for
from podplan.pipeline import Settings, plans
from podplan.workspace import Reader
from podplan.workspace.documents import Item, items
from podplan.workspace.file_loader import Unread, sources, standard_input
from podplan.workspace.files import demand_inside, expand
from podplan.yaml import Source, read

MOST_ERRORS = 5


@click.command("import")
@click.argument("file", shell_complete=files)
@click.option("-o", "--output", metavar="FILE", default="", help="Write to FILE, which must not exist.")
def command(file: str, output: str, **_: Any) -> int:
    """Write the shortest profile that renders to the CR in FILE, its comments kept."""
    from podplan.tools.importer import import_cr

    found = standard_input() if file == "-" else _read(file)
    for fault in found.faults:
        place = f"{file}:{fault.span.line}:{fault.span.column}"
        tell(f"{place}: {fault.rule} {fault.message}\n")
    documents = [item for item in items(found) if item.doc.data is not None]
    if not any(item.what == "cr" for item in documents):
        say(f"{file}: no training job here, so nothing to import")
        return FINDINGS if found.faults else NOTHING
    if output and os.path.exists(output):
        raise RequestError(f"{output} exists already; podplan import does not overwrite it")
    texts = []
    for item in documents:
        text, problems = import_cr(item.doc) if item.what == "cr" else _refused(item)
        errors = _errors_of_profile(text, item) if text else []
        for line, message in errors[:MOST_ERRORS]:
            tell(f"{file}:{line}: {message}; it is not imported\n")
        if len(errors) > MOST_ERRORS:
            tell(f"{file}: and {len(errors) - MOST_ERRORS} more errors: podplan check shows them all\n")
        left_out = "" if text else "; it is not imported"
        hide = redactor_for([item.doc]).text
        for problem in () if errors else problems[: None if text else 1]:
            tell(f"{file}:{_line(item.doc)}: {hide(problem.message)}{left_out}\n")
        texts += [text] if text and not errors else []
    text = "---\n".join(texts)
    if output and text:
        replace_file(output, text)
    else:
        write(text)
    return CLEAN if len(texts) == len(documents) and not found.faults else FINDINGS


def _read(file: str) -> Source:
    """The file to import. Raises RequestError, NoSuchPath, and OutsideRoot where a link leads out."""
    demand_inside(file)
    if os.path.isdir(file):
        raise RequestError(f"{file} is a folder; name the file with the training job")
    [found] = sources(expand([file]))
    if isinstance(found, Unread):
        raise RequestError(f"{file}: {found.reason}")
    return found


def _errors_of_profile(text: str, item: Item) -> list[tuple[int, str]]:
    """Why podplan would refuse a profile, at the lines of its CR that are to blame."""
    profile = read(text.encode(), item.doc.name)
    errors = _errors(items(profile), [profile])
    if not errors:
        return []
    lines = {(one.rule, one.message): one.location.line for one in _errors([item], [])}
    said = ((one.rule, one.message) for one in errors)
    return sorted((lines.get(key, _line(item.doc)), " ".join(key)) for key in said)


def _errors(found: Iterable[Item], texts: Sequence[Source]) -> list[Finding]:
    """The errors for which profiles or CRs are not rendered."""
    settings, reader = Settings(environments=None), Reader(Doc("", {}))
    made = [plan for item in found for plan in plans(item, settings, reader)]
    findings = summarised(texts, made, settings, reader).findings
    return [one for one in findings if one.severity is Severity.ERROR]


def _refused(item: Item) -> tuple[str, list[Problem]]:
    """No text for a document that is no training job, and what it is instead."""
    data = item.doc.data
    kind = data.get("kind") if isinstance(data, dict) else None
    what = f"a {kind}" if isinstance(kind, str) else f"a document with {item.reason or 'no kind'}"
    return "", [Problem("PROF025", f"{what} is no training job")]


def _line(doc: Doc) -> int:
    """The line that a document, or an entry of a List, begins on."""
    end = trace(doc, ())[-1]
    return end.doc.source.span(end.path).line if end.doc.source is not None else 1
