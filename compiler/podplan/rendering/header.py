"""Headers of rendered CRs: the source of a CR, and whether that still renders the same."""

from __future__ import annotations

import os
import shlex
from itertools import pairwise

from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.errors import UsageError
from podplan.core.findings import Diagnostic, Path, Severity, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.structural_diff import ABSENT, DiffRules, index_by_place, iter_changes
from podplan.core.typing import NamedTuple
from podplan.kinds.common.gitops_tools import GITOPS_TOOLS
from podplan.pipeline import JobPlan, PipelineSettings, iter_job_plans
from podplan.workspace.documents import RENDER_HEADER_PREFIX, ClassifiedDocument, classify_documents
from podplan.workspace.files import (
    OutsideRoot,
    explain_invalid_path,
    find_root,
    is_in_repository,
    relative_to_root,
    to_user_path,
)
from podplan.workspace.loader import Loader

# Line breaks, and characters that YAML does not allow.
_INVALID_COMMENT_CHARACTER = compile_lazily(
    "[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


class RenderHeader(NamedTuple):
    """The source of a rendered CR: a file relative to the root, and the flags -e, --gitops and --set."""

    source_file: str
    environment: str
    gitops_tool: str
    param_values: dict[str, str]


def format_header(plan: JobPlan, settings: PipelineSettings) -> str:
    """Return the comment for a rendered CR, as a line of text."""
    words = [relative_to_root(plan.item.doc.name)]
    words += ["-e", plan.environment] if plan.environment else []
    words += ["--gitops", settings.gitops_tool] if settings.gitops_tool != "none" else []
    for key, value in settings.param_values.items():
        words += ["--set", f"{key}={value}"]
    return RENDER_HEADER_PREFIX + " ".join(map(_quote_word, words)) + "\n"


def _quote_word(word: str) -> str:
    """Quote a word for a shell, on one line, so that no name or value can end the comment."""
    if not _INVALID_COMMENT_CHARACTER.search(word):
        return shlex.quote(word)
    escaped = (char if char not in "\\'" else f"\\{char}" for char in word)
    quoted = _INVALID_COMMENT_CHARACTER.sub(lambda match: f"\\u{ord(match[0]):04x}", "".join(escaped))
    return f"$'{quoted}'"


def parse_header(item: ClassifiedDocument) -> RenderHeader | None:
    """Parse the comment of a CR; None for a hand-written CR.

    Also None outside a git repository, where the folder of the path is unknown, and if the path is invalid.
    """
    source = item.doc.source
    lines = source.header if source is not None and is_in_repository(item.doc.name) else []
    line = next((line for line in lines if line.startswith(RENDER_HEADER_PREFIX)), None)
    if line is None:
        return None
    from podplan.launchers.quoting import resplit_line

    resplit = resplit_line(line.removeprefix(RENDER_HEADER_PREFIX))
    if resplit.error or resplit.operator or not resplit.words:
        return None
    file, *flags = (word.text for word in resplit.words)
    if explain_invalid_path(file):
        return None
    environment = next((value for flag, value in pairwise(flags) if flag == "-e"), "")
    gitops_tool = next(
        (value for flag, value in pairwise(flags) if flag == "--gitops" and value in GITOPS_TOOLS), "none"
    )
    pairs = (value.partition("=") for flag, value in pairwise(flags) if flag == "--set")
    return RenderHeader(file, environment, gitops_tool, {key: value for key, _, value in pairs})


def find_source_path(item: ClassifiedDocument, render_header: RenderHeader) -> str:
    """Return the source file of a rendered CR, as a path for the user."""
    document_name = item.doc.name
    return to_user_path(os.path.join(find_root(document_name), render_header.source_file), document_name)


def diagnose_stale_cr(
    item: ClassifiedDocument, render_header: RenderHeader, settings: PipelineSettings, reader: Loader
) -> Diagnostic | None:
    """Return the diagnostic for a rendered CR whose source is missing, or renders something else now."""
    current_plan = plan_from_source(item, render_header, settings, reader)
    if isinstance(current_plan, str):
        return Diagnostic("GIT001", current_plan, help="render again, or delete this file")
    assert current_plan.cr is not None
    if current_plan.cr.data == item.doc.data:
        return None
    path = _find_first_difference(current_plan.cr.data, item.doc.data)
    value = value_at(current_plan.cr.data, path)  # the text may be secret
    is_shown = isinstance(value, bool | int) and isinstance(path[-1], str)
    difference = f", here {path[-1]}: {str(value).lower()}" if is_shown else ""
    return Diagnostic(
        "GIT001",
        f"{render_header.source_file} renders something else now{difference}; render it again instead of"
        " editing this file",
        path,
    )


def find_source_error(item: ClassifiedDocument, render_header: RenderHeader, reader: Loader) -> str:
    """Return why the source of a rendered CR cannot be read; "" if it can be, and if it does not exist."""
    try:
        source = reader.load_source(find_root(item.doc.name), find_source_path(item, render_header))
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        return (error.strerror or str(error)).lower()
    except OutsideRoot as error:
        return error.reason
    errors = (fault for fault in source.diagnostics if BUILTIN_RULES[fault.rule].severity is Severity.ERROR)
    return next((f"line {fault.span.line}: {fault.message}" for fault in errors), "")


def plan_from_source(
    item: ClassifiedDocument, render_header: RenderHeader, settings: PipelineSettings, reader: Loader
) -> JobPlan | str:
    """Compile the current plan of this CR from its source, or return a sentence about why that fails."""
    path = find_source_path(item, render_header)
    try:
        source = reader.load_source(find_root(item.doc.name), path)
        profiles = [found for found in classify_documents(source) if found.category == "profile"]
    except (FileNotFoundError, NotADirectoryError):
        return f"{render_header.source_file}, which this was rendered from, is not there"
    except (OSError, OutsideRoot):
        return f"{render_header.source_file}, which this was rendered from, cannot be read"
    environments = (render_header.environment,) if render_header.environment else None
    source_settings = settings._replace(
        environments=environments,
        gitops_tool=render_header.gitops_tool,
        param_values=render_header.param_values,
    )
    reason = find_source_error(item, render_header, reader)
    for profile in profiles:
        try:
            source_plans = list(iter_job_plans(profile, source_settings, reader))
        except UsageError as error:  # the environments or params have changed
            reason = str(error).removeprefix(f"{profile.doc.name}: ")
            continue
        for plan in source_plans:
            if plan.cr is not None and _have_same_name(plan.cr, item.doc):
                return plan
        reason = reason or next((_find_first_error(plan) for plan in source_plans if plan.cr is None), "")
    return (
        f"{render_header.source_file}, which this was rendered from, no longer renders"
        f" it{f': {reason}' if reason else ''}"
    )


def _find_first_error(plan: JobPlan) -> str:
    """Return the first error of a profile that does not compile, or ""."""
    for diagnostic in plan.diagnostics:
        if BUILTIN_RULES[diagnostic.rule].severity is Severity.ERROR:
            from podplan.lint.finding_redaction import build_document_redactor

            return build_document_redactor([plan.item.doc, plan.profile, diagnostic.doc]).redact_text(
                diagnostic.message
            )
    return ""


def _have_same_name(first: TracedDocument, second: TracedDocument) -> bool:
    return all(
        _get_value(first, *path) == _get_value(second, *path)
        for path in (("kind",), ("metadata", "name"), ("metadata", "namespace"))
    )


def _get_value(doc: TracedDocument, *steps: str) -> object:
    value = doc.data
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _find_first_difference(expected: object, actual: object) -> Path:
    """Return the first path in ``actual`` where the two differ."""
    change = next(iter_changes(actual, expected, _DIFF_RULES), None)
    if change is None:
        return ()
    return change.old_path[:-1] if change.old is ABSENT else change.old_path


_DIFF_RULES = DiffRules(lambda _, old, new: index_by_place(old, new), lambda _, old, new: bool(old == new))
