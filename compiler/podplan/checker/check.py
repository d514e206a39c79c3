"""Checks files: runs the pipeline on every document and collects the findings."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby

from podplan.checker.files import (
    build_syntax_finding,
    describe_unchecked_file,
    find_shared_document_findings,
    is_broken_template,
    iter_file_findings,
)
from podplan.checker.internal_errors import iter_until_internal_error
from podplan.checker.jobs import build_cross_job_findings, check_plans, make_redactor_getter
from podplan.checker.packed_store import JobSource
from podplan.checker.placeholders import PLACEHOLDERS, is_about_placeholder
from podplan.checker.pool import iter_checked_files
from podplan.checker.result import CheckResult, Summary, build_result, filter_result, store_shown_texts
from podplan.checker.run_state import CheckRun, LimitHit, iter_until_limit
from podplan.core.findings import Finding
from podplan.core.limits import LimitExceeded
from podplan.core.typing import TYPE_CHECKING
from podplan.lint.aggregation import aggregate_findings, merge_equal_findings
from podplan.pipeline import JobPlan, PipelineSettings, iter_job_plans
from podplan.workspace.documents import (
    ALL_CATEGORIES,
    PROFILE_CATEGORIES,
    ClassifiedDocument,
    classify_documents,
    may_hold,
)
from podplan.workspace.file_loader import DENIED, SkippedFile, load_file, reload_file, summarize_limit_errors
from podplan.workspace.files import expand_paths
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile, parse_yaml

if TYPE_CHECKING:
    from podplan.checker.base_revision import BaseCrs

__all__ = [
    "CheckResult",
    "CheckRun",
    "Summary",
    "WatchProgress",
    "check_files",
    "check_sources",
    "collect_findings",
    "filter_result",
    "summarize_plans",
]

WatchProgress = Callable[[Iterable[str], int], Iterable[str]]


def check_files(
    paths: Sequence[str],
    settings: PipelineSettings,
    reader: Loader,
    exclude: Sequence[str] = (),
    watch: WatchProgress | None = None,
    base_crs: BaseCrs | None = None,
    workers: int = 1,
    changed_files: Collection[str] | None = None,
) -> CheckResult:
    """Check the files that ``paths`` match.

    ``watch`` gets an iterator over the files and their number, and yields each file when its turn comes.
    ``base_crs`` are the CRs of the base revision, for rules about changes. ``workers`` processes share the
    files if there are enough, 0 is one per processor; the result is the same. If ``changed_files`` (real
    paths) is given, policies are evaluated only for files that depend on them.

    Raises PathNotFound: if a path does not exist. Raises UsageError: if a file cannot be read.
    """
    folders = tuple(os.path.realpath(path) for path in paths if os.path.isdir(path))
    run = CheckRun(
        settings,
        reader,
        base_crs,
        lambda file: reload_file(file, reader.unsaved_texts),
        changed_files=changed_files,
    )
    files = tuple(expand_paths(paths, exclude, run.unreadable_folders, run.not_checked))
    reader.start_run(files)
    checked_files = iter_checked_files(files, run, _check_file, workers)
    for _ in watch(checked_files, len(files)) if watch else checked_files:
        pass
    if run.read_limit_messages:
        run.limit_hits.append(LimitHit("", summarize_limit_errors(run.read_limit_messages)))
    return _finish_run(run, files, folders)


def check_sources(
    sources: Iterable[SourceFile | SkippedFile],
    settings: PipelineSettings,
    reader: Loader,
    folders: tuple[str, ...] = (),
    base_crs: BaseCrs | None = None,
) -> CheckResult:
    """Check files that are already read, such as standard input; ``folders`` are those that are checked
    completely."""
    texts: dict[str, str] = {}
    run = CheckRun(settings, reader, base_crs, lambda file: parse_yaml(texts[file].encode(), file))
    for source in iter_until_limit(sources, run):
        if isinstance(source, SourceFile):
            texts[source.file] = source.text
            if not os.path.exists(source.file):
                run.reader.add_stream(source)
        _check_source(source, run)
    return _finish_run(run, texts, folders)


def _check_file(file: str, run: CheckRun) -> None:
    try:
        source = load_file(file, run.reader.unsaved_texts)
    except LimitExceeded as error:
        run.unread_files.add(file)
        run.read_limit_messages.append(str(error))
    else:
        _check_source(source, run)


def _finish_run(run: CheckRun, files: Iterable[str], folders: tuple[str, ...]) -> CheckResult:
    """Add the findings about all files together, and build the result."""
    if run.rendered_crs or run.reader.inventory_files:
        checked_files = {os.path.realpath(file) for file in files if file not in run.unread_files}
        _check_rendered_crs(run, checked_files)
        _check_inventories(run, checked_files)
    reached = [LimitHit(*exceeded) for exceeded in run.cross_job_index.exceeded]
    run.limit_hits += (one for one in dict.fromkeys(reached) if one not in run.limit_hits)
    for job_number, diagnostic in run.cross_job_index.iter_diagnostics(
        run.suppression_tracker.find_enabled_policies()
    ):
        run.findings += build_cross_job_findings(job_number, diagnostic, run)
    policy_files = run.settings.lint_config.policy_texts
    if policy_files:
        _add_policy_diagnostics(run)
    # A finding in one of these files is repeated for each job that uses the file.
    if shared_files := {*policy_files, *run.reader.referenced_files}:
        run.findings = merge_equal_findings(run.findings, shared_files)
    return build_result(run, folders)


def _check_source(source: SourceFile | SkippedFile, run: CheckRun) -> None:
    run.counts["files"] += 1
    if isinstance(source, SkippedFile):
        run.not_checked[source.reason] += 1
        run.unread_files.add(source.file)
        if source.reason == DENIED:
            run.unlowered_files.add(source.file)
        return
    findings_of_file = iter_until_limit(
        iter_until_internal_error(iter_file_findings(source, run), run, source.file),
        run,
        source.file,
    )
    if run.add_findings(source.file, findings_of_file):
        run.store_text(source)


def _check_rendered_crs(run: CheckRun, checked_files: Collection[str]) -> None:
    """Check rendered CRs that are up to date, unless their source is checked: it has the same findings."""
    for job_source, source in run.rendered_crs:
        if source in checked_files:
            run.not_checked["rendered CR: its source is"] += 1
        else:
            item, text = run.rebuilder.get_item(job_source)
            rendered_findings = iter_until_internal_error(
                _iter_rendered_findings(item, run, job_source), run, job_source.file, item.doc
            )
            findings_of_item = iter_until_limit(rendered_findings, run, job_source.file)
            if run.add_findings(job_source.file, findings_of_item):
                run.store_text(parse_yaml(text.encode(), job_source.file))


def _iter_rendered_findings(
    item: ClassifiedDocument, run: CheckRun, job_source: JobSource
) -> Iterator[Finding]:
    yield from check_plans(iter_job_plans(item, run.settings, run.reader), run, job_source)


def _check_inventories(run: CheckRun, checked_files: Collection[str]) -> None:
    """Check the inventories that rules read, unless their files are checked anyway."""
    for file in sorted(run.reader.inventory_files):
        if os.path.realpath(file) in checked_files:
            continue
        source = reload_file(file, run.reader.unsaved_texts)
        run.suppression_tracker.load_suppressions(source)
        for item in run.reader.classify(source):
            if item.category == "inventory" and run.add_findings(
                file, find_shared_document_findings(item, run)
            ):
                run.store_text(source)


def _add_policy_diagnostics(run: CheckRun) -> None:
    """Add the diagnostics of custom policies, which do not depend on jobs."""
    diagnostics = run.settings.lint_config.policy_diagnostics
    run.findings += aggregate_findings(diagnostics, make_redactor_getter(one.doc for one in diagnostics))


def summarize_plans(
    sources: Sequence[SourceFile | SkippedFile],
    loaded_plans: Sequence[JobPlan],
    settings: PipelineSettings,
    reader: Loader,
) -> CheckResult:
    """Return the findings of plans that are already built, and of the files that they come from."""
    run = CheckRun(settings, reader)
    for source in sources:
        _add_faults(source, run, ALL_CATEGORIES)
    for _, group in groupby(loaded_plans, key=lambda plan: id(plan.item)):
        plans_of_item = list(group)
        _add_plans(plans_of_item[0].item, plans_of_item, run)
    store_shown_texts(sources, run, run.findings)
    return build_result(run)


def collect_findings(
    found: Iterable[SourceFile | SkippedFile],
    settings: PipelineSettings,
    reader: Loader,
    wanted: Collection[str],
    take: Callable[[JobPlan, bool], None],
    fails: Callable[[CheckResult], bool] = lambda _: False,
    includes: Callable[[JobPlan], bool] = lambda _: True,
    needs_lowered: bool = True,
) -> CheckResult:
    """Return the findings of the documents in the ``wanted`` categories; pass each plan to ``take``, with
    whether the findings about it alone fail by ``fails``.

    Plans that ``includes`` does not accept are skipped, with their findings. ``needs_lowered`` if findings
    about placeholders matter where they keep a CR from being lowered. Neither plans nor files are kept.
    Raises what pipeline.iter_job_plans and ``take`` raise.
    """
    faults: dict[int, list[Finding]] = {}

    def take_plans(source: SourceFile, item: ClassifiedDocument) -> Iterator[JobPlan]:
        faults_of_item = [] if item.doc.source is None else faults.get(item.doc.source.index, [])
        for plan in iter_job_plans(item, settings, reader):
            if includes(plan):
                take(plan, _is_failure(plan, source, faults_of_item, run, fails))
                yield plan

    run = CheckRun(settings, reader)
    for source in found:
        first = len(run.findings)
        faults = _add_faults(source, run, PROFILE_CATEGORIES.union(wanted))
        for item in reader.classify(source) if isinstance(source, SourceFile) else ():
            if not isinstance(source, SourceFile):
                continue
            if item.category == "foreign" and not source.diagnostics:  # else the file is counted
                run.not_checked[item.reason] += 1
            elif item.category in wanted or item.category == "podplan":
                _add_plans(item, take_plans(source, item), run, needs_lowered)
        store_shown_texts([source], run, run.findings[first:])
    return build_result(run)


def _is_failure(
    plan: JobPlan,
    source: SourceFile,
    faults: Sequence[Finding],
    run: CheckRun,
    fails: Callable[[CheckResult], bool],
) -> bool:
    """Whether the findings about one plan, and about the syntax of its document, fail."""
    if not (plan.diagnostics or faults):
        return False
    run_of_plan = CheckRun(run.settings, run.reader)
    run_of_plan.suppression_tracker.load_suppressions(source)
    run_of_plan.add_findings(source.file, faults)
    _add_plans(plan.item, [plan], run_of_plan)
    return fails(build_result(run_of_plan))


def _add_faults(
    source: SourceFile | SkippedFile, run: CheckRun, categories: Collection[str]
) -> dict[int, list[Finding]]:
    """Add the syntax errors of a file that contains documents in ``categories``; return them by the index of
    their document."""
    run.counts["files"] += 1
    faults: dict[int, list[Finding]] = {}
    if isinstance(source, SkippedFile):
        run.not_checked[source.reason] += 1
        return faults
    run.suppression_tracker.load_suppressions(source)
    if not source.diagnostics:
        return faults
    if may_hold(source, categories) and not is_broken_template(source, list(classify_documents(source))):
        for fault in source.diagnostics:
            faults.setdefault(fault.document_index, []).append(build_syntax_finding(source, fault))
        run.add_findings(source.file, (one for group in faults.values() for one in group))
    else:
        run.not_checked[describe_unchecked_file(source)] += 1
    return faults


def _add_plans(
    item: ClassifiedDocument, made: Iterable[JobPlan], run: CheckRun, needs_lowered: bool = True
) -> None:
    """Add the findings of the plans of a document, without those about placeholders if it can be lowered,
    or need not be."""
    is_lowered = item.category in ("cr", "object")

    def watch_plans() -> Iterator[JobPlan]:
        nonlocal is_lowered
        for plan in made:
            is_lowered = is_lowered and (plan.is_lowered or not needs_lowered)
            yield plan

    findings = check_plans(watch_plans(), run)
    kept = [found for found in findings if not (is_lowered and is_about_placeholder(found, item.doc))]
    if len(kept) < len(findings):
        run.not_checked[PLACEHOLDERS] += 1
    run.add_findings(item.doc.name, kept)
