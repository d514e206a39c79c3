"""podplan import"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence

import click

from podplan.checker.check import summarize_plans
from podplan.checker.files import describe_unchecked_file, is_broken_template
from podplan.cli.exit_codes import CLEAN, FINDINGS, NO_INPUT
from podplan.cli.help import HelpCommand
from podplan.cli.options import exclude_option
from podplan.cli.output import print_message, replace_file, write_escaped_stderr, write_stdout
from podplan.cli.shell_completion import complete_files
from podplan.core.errors import NothingFound, UsageError
from podplan.core.findings import Diagnostic, Finding, Severity
from podplan.core.provenance import TracedDocument, trace_to_source
from podplan.core.typing import Any
from podplan.core.wording import add_article, format_count
from podplan.kinds.registry import find_kind, load_spec
from podplan.lint.finding_redaction import build_document_redactor
from podplan.pipeline import PipelineSettings, iter_job_plans
from podplan.workspace.documents import ClassifiedDocument, classify_documents, may_hold
from podplan.workspace.file_loader import SkippedFile, load_files, read_standard_input
from podplan.workspace.files import expand_paths, require_inside_repository
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile, parse_yaml

MAX_SHOWN_ERRORS = 5


@click.command("import", cls=HelpCommand)
@click.argument("file", shell_complete=complete_files)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default="",
    help="Output file or folder, which must not exist, instead of standard output.",
)
@exclude_option()
def command(file: str, output: str, exclude: tuple[str, ...]) -> int:
    """Convert the CR in FILE into the shortest profile that renders to the same CR.

    If FILE is a folder, all CRs below it are converted into profiles in the folder -o, with bases for what
    they have in common. Each profile is compiled again, and its CR is compared with the original.
    """
    if file != "-" and os.path.isdir(file):
        return _import_folder(file, output, exclude)
    from podplan.tools.importer import import_cr

    source = read_standard_input() if file == "-" else _read(file)
    _print_syntax_errors(source)
    written = [item for item in classify_documents(source) if item.doc.data is not None]
    documents = [item for item in written if not _is_no_job(item)]
    for item in written if documents else ():
        if _is_no_job(item):
            write_escaped_stderr(
                f"{file}:{_find_line(item.doc)}: {item.doc.data['kind']}; it stays as it is\n"
            )
    if not any(item.category == "cr" for item in documents):
        print_message(f"{file}: no training job here, so nothing to import")
        return FINDINGS if source.diagnostics else NO_INPUT
    if output and os.path.exists(output):
        raise UsageError(f"{output} exists already; podplan import does not overwrite it")
    texts = []
    for item in documents:
        text, problems = import_cr(item.doc) if item.category == "cr" else _refuse_document(item)
        errors = _find_profile_errors(text, item) if text else _list_cr_errors(item)
        for line, message in errors[:MAX_SHOWN_ERRORS]:
            write_escaped_stderr(f"{file}:{line}: {message}; it is not imported\n")
        if len(errors) > MAX_SHOWN_ERRORS:
            write_escaped_stderr(
                f"{file}: and {len(errors) - MAX_SHOWN_ERRORS} more errors: podplan check shows them all\n"
            )
        suffix = "" if text else "; it is not imported"
        redact = build_document_redactor([item.doc]).redact_text
        for problem in () if errors else problems[: None if text else MAX_SHOWN_ERRORS]:
            write_escaped_stderr(f"{file}:{_find_line(item.doc)}: {redact(problem.message)}{suffix}\n")
        texts += [text] if text and not errors else []
    text = "---\n".join(texts)
    if output and text:
        replace_file(output, text)
    else:
        write_stdout(text)
    return CLEAN if len(texts) == len(documents) and not source.diagnostics else FINDINGS


def _is_no_job(item: ClassifiedDocument) -> bool:
    """Whether a document has a kind that podplan lowers and that is no job, such as a runtime."""
    data = item.doc.data
    kind = find_kind(data.get("apiVersion"), data.get("kind")) if item.category == "cr" else None
    return kind is not None and not load_spec(kind).is_job


def _print_syntax_errors(source: SourceFile) -> None:
    for fault in source.diagnostics:
        place = f"{source.file}:{fault.span.line}:{fault.span.column}"
        write_escaped_stderr(f"{place}: {fault.rule} {fault.message}\n")


def _import_folder(folder: str, output: str, exclude: Sequence[str]) -> int:
    """Import all CRs below a folder. Raises UsageError: without an output folder that can be created."""
    from podplan.tools.importer import decompile_cr
    from podplan.tools.importer.bases import ImportedJob, factor_bases

    require_inside_repository(folder)
    if not output:
        raise UsageError(f"{folder} is a folder; name a folder for the profiles with -o DIR")
    if os.path.exists(output):
        raise UsageError(f"{output} exists already; podplan import does not overwrite it")
    jobs: list[ImportedJob] = []
    names: set[str] = set()
    failed = 0
    foreign: Counter[str] = Counter()
    loader = Loader(exclude=exclude)
    for source in load_files(expand_paths([folder], exclude)):
        if isinstance(source, SkippedFile):
            write_escaped_stderr(f"{source.file}: {source.reason}; it is not imported\n")
            failed += 1
            continue
        items = list(loader.classify(source))
        if is_broken_template(source, items):
            foreign[describe_unchecked_file(source)] += 1
            continue
        if source.diagnostics and may_hold(source, ("cr",)):
            _print_syntax_errors(source)
            failed += 1
        for item in items:
            foreign[item.reason] += item.category == "foreign"
            if item.category != "cr" or item.declared_kind is not None:
                continue
            if _is_no_job(item):
                foreign[item.doc.data["kind"]] += 1
                continue
            job = decompile_cr(item.doc)
            errors = _list_cr_errors(item) or [
                (_find_line(item.doc), one.message) for one in (() if job.profile else job.diagnostics)
            ]
            redact = build_document_redactor([item.doc]).redact_text
            for line, message in errors[:MAX_SHOWN_ERRORS]:
                write_escaped_stderr(f"{source.file}:{line}: {redact(message)}; it is not imported\n")
            if errors:
                failed += 1
                continue
            for problem in job.diagnostics:
                write_escaped_stderr(f"{source.file}:{_find_line(item.doc)}: {redact(problem.message)}\n")
            below = os.path.relpath(os.path.dirname(source.file) or os.curdir, folder)
            place = "" if below == os.curdir else below.replace(os.sep, "/")
            jobs.append(ImportedJob(_choose_file_name(place, job.cr, names), place, job))
    if not jobs and not failed:
        raise NothingFound(f"{folder}: no training job here, so nothing to import")
    imported = factor_bases(jobs)
    for path, text in imported.texts.items():
        replace_file(os.path.join(output, path), text)
    bases = len(imported.texts) - len(jobs)
    extended = f", which {format_count(imported.with_base, 'profile')} extend" if bases else ""
    refused = f"; {failed} not imported" if failed else ""
    passed_over = ", ".join(f"{count} × {reason}" for reason, count in foreign.items() if count)
    refused += f"; passed over: {passed_over}" if passed_over else ""
    print_message(
        f"{output}: {format_count(len(jobs), 'profile')} and {format_count(bases, 'base')}{extended};"
        f" all render to their CRs{refused}"
    )
    return FINDINGS if failed else CLEAN


def _choose_file_name(place: str, cr: dict[str, Any], names: set[str]) -> str:
    """Return a new path for the profile of a CR: the folder of the CR, and the name of the job."""
    metadata = cr.get("metadata") or {}
    stem = str(metadata.get("name") or metadata.get("generateName") or "job").strip("-./") or "job"
    candidates = [stem, f"{metadata.get('namespace') or 'default'}-{stem}"]
    candidates += [f"{stem}-{number}" for number in range(2, len(names) + 3)]
    path = next(
        path
        for path in (f"{place}/{name}.yaml" if place else f"{name}.yaml" for name in candidates)
        if path not in names and not path.startswith("bases/")
    )
    names.add(path)
    return path


def _read(file: str) -> SourceFile:
    """Read the file to import.

    Raises UsageError, PathNotFound: if it cannot be read. Raises OutsideRoot: if a link leads outside.
    """
    require_inside_repository(file)
    [found] = load_files(expand_paths([file]))
    if isinstance(found, SkippedFile):
        raise UsageError(f"{file}: {found.reason}")
    return found


def _find_profile_errors(text: str, item: ClassifiedDocument) -> list[tuple[int, str]]:
    """Return the errors of the profile, at the lines of its CR that cause them."""
    profile = parse_yaml(text.encode(), item.doc.name)
    errors = _find_errors(classify_documents(profile), [profile])
    if not errors:
        return []
    lines = {(one.rule, one.message): one.location.line for one in _find_errors([item], [])}
    messages = ((one.rule, one.message) for one in errors)
    return sorted((lines.get(key, _find_line(item.doc)), " ".join(key)) for key in messages)


def _list_cr_errors(item: ClassifiedDocument) -> list[tuple[int, str]]:
    """Return the errors of a CR that cannot be imported, by line."""
    errors = _find_errors([item], []) if item.category == "cr" else []
    return sorted((one.location.line, f"{one.rule} {one.message}") for one in errors)


def _find_errors(document_items: Iterable[ClassifiedDocument], texts: Sequence[SourceFile]) -> list[Finding]:
    """Return the errors that prevent profiles or CRs from being rendered."""
    settings, reader = PipelineSettings(environments=None), Loader(TracedDocument("", {}))
    made_plans = [plan for item in document_items for plan in iter_job_plans(item, settings, reader)]
    findings = summarize_plans(texts, made_plans, settings, reader).findings
    return [one for one in findings if one.severity is Severity.ERROR]


def _refuse_document(item: ClassifiedDocument) -> tuple[str, list[Diagnostic]]:
    """Return the refusal of a document that is no training job, with what it is instead."""
    data = item.doc.data
    kind = data.get("kind") if isinstance(data, dict) else None
    description = (
        add_article(kind) if isinstance(kind, str) else f"a document with {item.reason or 'no kind'}"
    )
    return "", [Diagnostic("PROF025", f"{description} is no training job")]


def _find_line(doc: TracedDocument) -> int:
    """Return the line on which a document, or an entry of a List, begins."""
    source_step = trace_to_source(doc, ())[-1]
    return source_step.doc.source.span(source_step.path).line if source_step.doc.source is not None else 1
