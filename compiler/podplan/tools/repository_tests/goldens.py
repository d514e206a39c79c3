"""Golden renders: next to ``NAME.yaml``, ``NAME.golden.yaml`` has the render of its profiles."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from podplan.checker.check import CheckResult, summarize_plans
from podplan.core.errors import UsageError
from podplan.core.findings import Severity
from podplan.core.limits import LimitExceeded
from podplan.core.text_diff import iter_unified_diff
from podplan.core.typing import NamedTuple
from podplan.lint.finding_redaction import build_document_redactor
from podplan.pipeline import JobPlan, PipelineSettings, iter_job_plans
from podplan.rendering import join_documents, render_cr
from podplan.tools.repository_tests import CoveredItem, FailedTest, SuiteOutcome, merge_outcomes
from podplan.workspace.documents import RENDER_HEADER_PREFIX, classify_documents
from podplan.workspace.file_loader import DENIED, SkippedFile, describe_os_error, load_file
from podplan.workspace.files import (
    OutsideRoot,
    file_contains_any,
    find_root,
    golden_path,
    is_golden,
    profile_path,
    read_inside_root,
    require_inside_repository,
)
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile, find_secret_spans, parse_yaml

MAX_DIFF_LINES = 20
WriteFile = Callable[[str, str], bool]  # path and text; returns whether the file changed


class GoldenRender(NamedTuple):
    """The render of the profiles of a file in every environment; ``text`` is None if they do not compile."""

    text: str | None
    failures: tuple[FailedTest, ...] = ()


def run_goldens(
    files: Iterable[str], settings: PipelineSettings, reader: Loader, write: WriteFile | None, write_all: bool
) -> SuiteOutcome:
    """Compare the golden renders of the profiles in files, or update them with ``write``.

    ``write_all`` also writes them for profiles without one. A file that cannot be read or written, or exceeds
    a limit, fails its test.

    Raises UsageError: for an error that concerns all files.
    """
    run_file = partial(_test_file, settings=settings, reader=reader, write=write, write_all=write_all)
    profiles = dict.fromkeys(profile_path(file) if is_golden(file) else file for file in files)
    return merge_outcomes(tuple(map(run_file, profiles)))


def _test_file(
    file: str, settings: PipelineSettings, reader: Loader, write: WriteFile | None, write_all: bool
) -> SuiteOutcome:
    """Run the test of one file, if it has one."""
    try:
        source = load_file(file)
    except UsageError as error:
        return _build_failed_outcome(file, f"it cannot be read: {str(error).removeprefix(f'{file}: ')}")
    except LimitExceeded as error:
        return _build_failed_outcome(file, str(error), is_limit=True)
    if isinstance(source, SkippedFile):
        return (
            _build_failed_outcome(file, f"it cannot be read: {DENIED}")
            if source.reason == DENIED
            else SuiteOutcome()
        )
    golden = golden_path(file)
    profiles = [item for item in classify_documents(source) if item.category == "profile"]
    if not profiles:
        failures = tuple(_iter_orphan_failures(source, golden))
        return SuiteOutcome(len(failures), failures=failures)
    outcome = SuiteOutcome()
    if os.path.lexists(golden) or (write is not None and write_all):
        outcome = _compare_golden(source, golden, settings, reader, write)
    existing_goldens = (golden,) if os.path.lexists(golden) else ()
    covered_items = tuple(
        CoveredItem(
            "profile", _get_profile_name(item.doc.data), file, existing_goldens, bool(existing_goldens)
        )
        for item in profiles
    )
    return outcome._replace(covered_items=covered_items)


def _compare_golden(
    source: SourceFile, golden: str, settings: PipelineSettings, reader: Loader, update: WriteFile | None
) -> SuiteOutcome:
    """Compare the render of profiles with their golden file, or write it."""
    try:
        golden_render = render_golden(source, settings, reader)
    except LimitExceeded as error:
        reason = str(error).removeprefix(f"{source.file}: ")
        return _build_failed_outcome(source.file, f"{source.file} does not render: {reason}", is_limit=True)
    if golden_render.text is None:
        return SuiteOutcome(1, failures=golden_render.failures)
    try:
        if update is not None:
            require_inside_repository(golden)
            return SuiteOutcome(1, written=(golden,) if update(golden, golden_render.text) else ())
        stored_content = read_inside_root(find_root(golden), golden)
    except (OSError, OutsideRoot) as error:
        reason = describe_os_error(error) if isinstance(error, OSError) else error.reason
        remedy = "delete it, and podplan test --update --all makes it anew"
        return _build_failed_outcome(golden, f"it cannot be read: {reason}; {remedy}")
    except UsageError as error:
        return _build_failed_outcome(golden, str(error))
    except LimitExceeded as error:
        return _build_failed_outcome(golden, str(error), is_limit=True)
    if stored_content == golden_render.text.encode():
        return SuiteOutcome(1)
    return SuiteOutcome(
        1, failures=(_build_difference(source, golden, stored_content, golden_render.text, settings, reader),)
    )


def _build_failed_outcome(file: str, message: str, *, is_limit: bool = False) -> SuiteOutcome:
    """Return the outcome of a test that could not be completed, possibly because a limit was exceeded."""
    failure = FailedTest(file, 1, 1, "golden", message)
    return SuiteOutcome(1, failures=(failure,), limit_messages=(message,) if is_limit else ())


def render_golden(source: SourceFile, settings: PipelineSettings, reader: Loader) -> GoldenRender:
    """Return what ``podplan render`` prints for one file, one environment after the other.

    Environments may use the same name for the CR: they are for different clusters, or alternatives.
    """
    terms = settings.lint_config._replace(policies_enabled=False)
    settings = settings._replace(environments="each", policies=(), lint_config=terms)
    made_plans = _list_plans(source, settings, reader)
    failures = tuple(
        _iter_errors(summarize_plans([source], made_plans, settings, reader), made_plans, source.file)
    )
    texts = (
        render_cr(plan, settings)
        for plan in made_plans
        if plan.cr is not None and plan.item.category == "profile"
    )
    return GoldenRender(None if failures else join_documents(texts).text(), failures)


def _list_plans(source: SourceFile, settings: PipelineSettings, reader: Loader) -> list[JobPlan]:
    """Return the plans of the profiles and CRs in a file."""
    renderable_items = (item for item in classify_documents(source) if item.category in ("profile", "cr"))
    return [plan for item in renderable_items for plan in iter_job_plans(item, settings, reader)]


def _iter_errors(result: CheckResult, made_plans: Sequence[JobPlan], file: str) -> Iterator[FailedTest]:
    """Yield the errors that prevent a profile from being rendered."""
    errors = [one for one in result.findings if one.severity is Severity.ERROR]
    for finding in errors:
        location = finding.location
        yield FailedTest(
            location.file,
            location.line,
            location.column,
            finding.rule,
            f"{file} does not render: {finding.message}",
        )
    if not errors and any(plan.failed_environments or plan.cr is None for plan in made_plans):
        yield FailedTest(file, 1, 1, "golden", f"{file} does not render")


def _build_difference(
    profile: SourceFile,
    golden: str,
    stored_content: bytes,
    rendered_text: str,
    settings: PipelineSettings,
    reader: Loader,
) -> FailedTest:
    old, new = stored_content.decode(errors="replace").splitlines(), rendered_text.splitlines()
    pairs = enumerate(zip(old, new, strict=False), 1)
    line = next((number for number, (one, other) in pairs if one != other), min(len(old), len(new)) + 1)
    change_text = "renders something else now" if old != new else "renders the same with other line breaks"
    message = f"{profile.file} {change_text}; if that is right, podplan test --update writes it"
    if _can_both_be_shown(profile, golden, stored_content, settings, reader):
        return FailedTest(golden, line, 1, "golden", message, format_short_diff(old, new, golden))
    return FailedTest(golden, line, 1, "golden", f"{message} (no diff, for there may be a secret in it)")


def format_short_diff(old: Sequence[str], new: Sequence[str], golden: str) -> tuple[str, ...]:
    lines = list(iter_unified_diff(old, new, (golden, "rendered now"), "", context_lines=1))
    remaining = len(lines) - MAX_DIFF_LINES
    return (*lines[:MAX_DIFF_LINES], *([f"... and {remaining} more lines"] if remaining > 0 else []))


def can_be_shown(source: SourceFile, settings: PipelineSettings, reader: Loader) -> bool:
    """Whether a file is valid, and neither it nor its base profiles nor its lowered objects contain a
    secret."""
    if source.has_secret or source.diagnostics or find_secret_spans(source):
        return False
    options = settings.lowering_options._replace(resumed=True)
    made_plans = _list_plans(
        source, settings._replace(environments="each", policies=(), lowering_options=options), reader
    )
    docs = (
        doc
        for plan in made_plans
        for doc in (plan.profile, plan.cr, *(group.doc for group in plan.replica_groups))
    )
    return all(plan.is_lowered for plan in made_plans) and not build_document_redactor(docs)


def _can_both_be_shown(
    profile: SourceFile, golden: str, stored_content: bytes, settings: PipelineSettings, reader: Loader
) -> bool:
    try:
        return all(
            can_be_shown(source, settings, reader) for source in (profile, parse_yaml(stored_content, golden))
        )
    except (UsageError, LimitExceeded):  # a golden file may have any content
        return False


def _iter_orphan_failures(source: SourceFile, golden: str) -> Iterator[FailedTest]:
    """Yield the failure of a golden file whose profile is missing, or invalid."""
    if _is_rendered(golden):
        fault = source.diagnostics[0] if source.diagnostics else None
        line, column = (fault.span.line, fault.span.column) if fault is not None else (1, 1)
        why = fault.message if fault is not None else "it holds no profile"
        message = f"{source.file} does not render to {golden}: {why}"
        yield FailedTest(source.file, line, column, "golden", message)
    elif is_golden(source.file, allow_missing_profile=True) and RENDER_HEADER_PREFIX in source.text:
        profile = profile_path(source.file)
        message = f"there is no {profile} that renders this; delete it, or name it after its profile"
        yield FailedTest(source.file, 1, 1, "golden", message)


def _is_rendered(golden: str) -> bool:
    """Whether podplan wrote a golden file: other tools use the same name."""
    try:
        return file_contains_any(find_root(golden), golden, [RENDER_HEADER_PREFIX.encode()])
    except (OSError, OutsideRoot):
        return False


def _get_profile_name(data: object) -> str:
    """Return the name of a profile, or ""."""
    metadata = data.get("metadata") if isinstance(data, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""
