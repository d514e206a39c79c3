"""The result of a run: reported and suppressed findings, counts and texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from podplan.checker.run_state import CheckRun, LimitHit, find_shown_files
from podplan.core.findings import Finding, Severity
from podplan.core.typing import Any, NamedTuple
from podplan.workspace.files import find_root
from podplan.yaml import SourceFile, parse_yaml

NEED_INVENTORY = "rules that need an inventory"


class Summary(NamedTuple):
    """Counts of a run.

    ``objects`` are CRs (one per variant of a profile) and Kubernetes objects; ``lowered`` are the objects
    that controllers create for the CRs, counting every replica; ``not_checked`` is documents by reason.
    ``today`` is the day at which suppressions were evaluated, "" if it made no difference. ``omitted`` are
    findings that are not reported because they are not about the change. ``unlisted`` are counted, but not
    listed. ``unreadable_folders`` could not be listed, so nothing in them was checked.
    """

    errors: int
    warnings: int
    infos: int
    suppressed: int
    files: int
    objects: int
    lowered: int
    not_checked: Mapping[str, int]
    today: str = ""
    omitted: int = 0
    unlisted: int = 0
    unreadable_folders: tuple[str, ...] = ()


class CheckResult(NamedTuple):
    """Findings in the order of files and lines; ``redacted_texts`` has the texts of files with findings.

    ``all_findings`` includes suppressed ones. There may be further findings in ``unlowered_files`` and of
    ``undecided_rules``. ``limit_hits`` are the files that exceeded a limit: the result is then that of the
    others.

    Reports show only these. ``original_texts`` and ``fixable_findings`` are for fixes: the texts with
    secrets, and the findings with complete fixes. ``dependencies`` has for each file those that it depends
    on, and ``inventories`` are files that all depend on.
    """

    findings: list[Finding]
    summary: Summary
    redacted_texts: Mapping[str, str]
    all_findings: list[Finding]
    unlowered_files: frozenset[str] = frozenset()
    undecided_rules: frozenset[str] = frozenset()
    limit_hits: tuple[LimitHit, ...] = ()
    original_texts: Mapping[str, str] = {}
    fixable_findings: Sequence[Finding] = ()
    dependencies: Mapping[str, Collection[str]] = {}
    inventories: Collection[str] = ()


def build_result(run: CheckRun, folders: tuple[str, ...] | None = None) -> CheckResult:
    """Build the result; without ``folders``, findings about suppressions are omitted."""
    _store_finding_texts(run)
    redacted_texts = _redact_texts(run)
    unsafe_marked = [_mark_shared_fix_unsafe(one, run.reader.extended_files) for one in run.findings]
    all_findings = run.suppression_tracker.apply_comments_and_baseline(
        unsafe_marked, redacted_texts, run.reader.find_source
    )
    if folders is not None:
        all_findings += run.suppression_tracker.collect_suppression_findings(
            lambda file: _is_completely_checked(file, run, folders)
        )
    if len(run.cross_job_index) or len(all_findings) > len(run.findings):
        all_findings.sort(key=lambda found: (found.location.file, found.location.line, found.location.column))
    fixable_findings = [found for found in all_findings if not found.suppressed]
    if run.secret_files or run.secret_values or any(run.secret_spans.values()):
        from podplan.lint.finding_redaction import mark_secret_fixes, remove_secret_edits

        all_findings = mark_secret_fixes(all_findings, run.secret_files, run.secret_spans)
        fixable_findings = [found for found in all_findings if not found.suppressed]
        all_findings = remove_secret_edits(all_findings)
    reported_findings = [found for found in all_findings if not found.suppressed]
    if without_inventory := run.suppression_tracker.undecided_rules - run.rules_without_base:
        run.not_checked[NEED_INVENTORY] = len(without_inventory)
    if run.rules_without_base and run.settings.gitops_tool != "none":
        run.not_checked["rules that need a base"] = len(run.rules_without_base)
    summary = Summary(
        **_count_findings(all_findings),
        files=run.counts["files"],
        objects=run.counts["objects"],
        lowered=run.counts["lowered"],
        not_checked=dict(sorted(run.not_checked.items())),
        today=run.suppression_tracker.today,
        unreadable_folders=tuple(run.unreadable_folders),
    )
    unlowered_files, undecided_rules = (
        frozenset(run.unlowered_files),
        frozenset(run.suppression_tracker.undecided_rules),
    )
    limit_hits = tuple(run.limit_hits)
    return CheckResult(
        reported_findings,
        summary,
        redacted_texts,
        all_findings,
        unlowered_files,
        undecided_rules,
        limit_hits,
        dict(run.texts),
        fixable_findings,
        run.reader.references,
        run.reader.inventory_files,
    )


def store_shown_texts(
    sources: Iterable[SourceFile | object], run: CheckRun, findings: Iterable[Finding]
) -> None:
    """Store the texts of those of ``sources`` that findings point into, or that have suppressions."""
    shown_files = {file for found in findings for file in find_shown_files(found)}
    for source in sources:
        if isinstance(source, SourceFile) and (
            source.file in shown_files or run.suppression_tracker.has_suppressions(source.file)
        ):
            run.store_text(source)


def filter_result(check_result: CheckResult, is_kept: Callable[[Finding], bool]) -> CheckResult:
    """Return the result with only the findings for which ``is_kept`` is true, and the number of others.

    It is for reports: it cannot be used for fixes.
    """
    all_findings = [found for found in check_result.all_findings if is_kept(found)]
    reported_findings = [found for found in all_findings if not found.suppressed]
    omitted = check_result.summary.omitted + len(check_result.findings) - len(reported_findings)
    summary = check_result.summary._replace(**_count_findings(all_findings), omitted=omitted)
    return check_result._replace(
        findings=reported_findings,
        summary=summary,
        all_findings=all_findings,
        original_texts={},
        fixable_findings=(),
    )


def unlist_findings(check_result: CheckResult, lowest: Severity) -> CheckResult:
    """Return the result for a report that counts all findings, and lists those of a severity and above."""
    listed = [found for found in check_result.findings if found.severity >= lowest]
    unlisted = len(check_result.findings) - len(listed)
    return check_result._replace(findings=listed, summary=check_result.summary._replace(unlisted=unlisted))


def _mark_shared_fix_unsafe(finding: Finding, base_files: set[str]) -> Finding:
    """Return the finding; its fix is unsafe if it changes a file that other profiles extend."""
    fix = finding.fix
    if fix is None or not fix.safe:
        return finding
    edited_files = {edit.file for edit in fix.edits}
    is_shared = edited_files & base_files or (
        finding.subject_files and not edited_files.issubset(finding.subject_files)
    )
    return finding._replace(fix=fix._replace(safe=False)) if is_shared else finding


def _count_findings(all_findings: Iterable[Finding]) -> dict[str, Any]:
    """Return the counts of a Summary that are about findings."""
    counts = Counter("suppressed" if found.suppressed else f"{found.severity}s" for found in all_findings)
    return {name: counts[name] for name in ("errors", "warnings", "infos", "suppressed")}


def _store_finding_texts(run: CheckRun) -> None:
    """Store the texts of all files that findings point into."""
    shown_files = {file for found in run.findings for file in find_shown_files(found)} - run.texts.keys()
    for file in sorted(shown_files):
        if (source := run.reader.find_source(file)) is not None:
            run.store_text(source)
    kept_texts = {**run.settings.lint_config.policy_texts, **run.rebuilder.get_texts(shown_files)}
    for file in shown_files & kept_texts.keys():
        run.store_text(parse_yaml(kept_texts[file].encode(), file))


def _redact_texts(run: CheckRun) -> dict[str, str]:
    """Return the texts as reports may show them: with secrets redacted, and without files that contain a
    Secret.

    In a Secret that does not parse, any line may be secret.
    """
    redacted_texts = {file: text for file, text in run.texts.items() if file not in run.secret_files}
    if not (run.secret_values or any(run.secret_spans.values())):
        return redacted_texts
    from podplan.redaction.redactor import Redactor, redact_spans

    for file, text in redacted_texts.items():
        values = run.secret_values.get(file, ())
        spans = (*run.secret_spans.get(file, ()), *Redactor(values).iter_spans(text))
        if spans:
            redacted_texts[file] = redact_spans(text, spans)
    return redacted_texts


def _is_completely_checked(file: str, run: CheckRun, folders: tuple[str, ...]) -> bool:
    """Whether everything that suppressions in a file are about was checked, so that an unused one is
    reported.

    Profiles anywhere below the root of a base profile may extend it, with environments and flags.
    """
    settings = run.settings
    if (
        settings.environments != "all"
        or settings.param_values
        or file in run.unlowered_files
        or run.limit_hits
    ):
        return False
    return file not in run.shared_files or (
        find_root(file) in folders and not run.unlowered_files and not run.unreadable_folders
    )
