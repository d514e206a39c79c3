"""Runs the check for the command line."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence

from podplan.checker.check import CheckResult, check_files, check_sources
from podplan.cli.exit_codes import CLEAN, FINDINGS, INTERNAL_ERROR
from podplan.cli.options import RunSettings, resolve_run_settings
from podplan.cli.progress import show_progress
from podplan.cli.reports import (
    ReportTargets,
    parse_report_flags,
    render_reports,
    write_report_texts,
    write_reports,
)
from podplan.core.builtin_rules import INTERNAL_ERROR_RULE, LIMIT_RULE
from podplan.core.errors import NothingFound
from podplan.core.findings import Severity
from podplan.core.limits import LimitExceeded
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.workspace.dependencies import MIN_FILES_FOR_CACHE, record_dependencies
from podplan.workspace.file_loader import read_standard_input
from podplan.workspace.files import UNUSED_CONFIG
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile

if TYPE_CHECKING:
    from podplan.checker.base_revision import BaseCrs

# Findings that are specific to one run, which must not be cached.
_RUN_SPECIFIC_RULES = (LIMIT_RULE, INTERNAL_ERROR_RULE, "POLICY001", "POLICY004")


def check_paths(paths: Sequence[str]) -> int:
    """Run `podplan check PATH…` without flags, and return the exit code."""
    return check_and_report(paths, {}, parse_report_flags("full", (), False, "auto"), "")


def check_and_report(
    paths: Sequence[str], flags: Mapping[str, Any], report_targets: ReportTargets, cache_dir: str | None
) -> int:
    """Check, print the reports, and return the exit code.

    ``cache_dir`` is the folder of the cache: "" is the default, None disables the cache.
    """
    if cache_dir is not None and (len(paths) >= MIN_FILES_FOR_CACHE or any(map(os.path.isdir, paths))):
        from podplan.cli.check_cache import select_folder

        if cache_folder := select_folder(cache_dir, paths):
            return _check_with_cache(cache_folder, paths, flags, report_targets)
    run_settings = resolve_check_settings(paths, **flags)
    return report_result(
        run_check(paths, run_settings, flags.get("stdin_filename", ""), kustomize=flags.get("kustomize", "")),
        run_settings,
        report_targets,
    )


def _check_with_cache(
    folder: str, paths: Sequence[str], flags: Mapping[str, Any], report_targets: ReportTargets
) -> int:
    """Check with a cache: the stored output is printed if all its dependencies are unchanged."""
    from podplan.cli import check_cache

    report_key = (
        *(report_targets.format, [name for name, _ in report_targets.files]),
        *(report_targets.style, report_targets.listing),
    )
    key = check_cache.compute_key(paths, flags, report_key)
    cache_entry = check_cache.load_entry(folder, key, len(report_targets.files) + 1)
    if cache_entry is None:
        with record_dependencies() as record:
            run_settings = resolve_check_settings(paths, **flags)
            result = run_check(paths, run_settings)
        if result.limit_hits or any(found.rule in _RUN_SPECIFIC_RULES for found in result.findings):
            return report_result(result, run_settings, report_targets)
        cache_entry = check_cache.CacheEntry(
            compute_exit_code(result, run_settings.fail_on),
            render_reports(result, report_targets.list_failures(run_settings.fail_on)),
        )
        if (
            check_cache.compute_key(paths, flags, report_key) == key
        ):  # otherwise a file or the date changed during the run
            check_cache.store_entry(folder, key, cache_entry, record)
    write_report_texts(cache_entry.texts, report_targets)
    return cache_entry.exit_code


def report_result(result: CheckResult, run_settings: RunSettings, report_targets: ReportTargets) -> int:
    """Print the result, and return the exit code. Raises LimitExceeded: if a limit left files unchecked."""
    write_reports(result, report_targets.list_failures(run_settings.fail_on))
    require_complete(result)
    return compute_exit_code(result, run_settings.fail_on)


def resolve_check_settings(paths: Sequence[str], jobs: int = 0, **flags: Any) -> RunSettings:
    """Resolve the settings of a check: with all environments, and the current day in UTC."""
    today = time.strftime("%Y-%m-%d", time.gmtime())
    run_settings = resolve_run_settings(paths, clock=today, with_policies=True, **flags)
    settings = run_settings.settings._replace(
        environments=run_settings.settings.environments or "all",
        # Lower the Pods of a paused job as if it were resumed.
        lowering_options=run_settings.settings.lowering_options._replace(resumed=True),
    )
    return run_settings._replace(settings=settings, jobs=jobs)


def run_check(
    paths: Sequence[str],
    run_settings: RunSettings,
    stdin_filename: str = "",
    base_crs: BaseCrs | None = None,
    kustomize: str = "",
    changed_files: Collection[str] | None = None,
) -> CheckResult:
    """Check paths, standard input if the path is ``-``, or what the kustomization in a folder builds.

    ``base_crs`` are the CRs of the base revision, for rules about changes. ``changed_files`` are as for
    ``check_files``.
    """
    if list(paths) == ["-"]:
        source = read_standard_input(stdin_filename)
        if isinstance(source, SourceFile) and not source.text.strip():
            raise NothingFound("standard input is empty, so nothing is checked")
        return check_sources([source], run_settings.settings, Loader(exclude=run_settings.exclude))
    if kustomize:
        loader = Loader(exclude=run_settings.exclude)
        return check_sources([loader.load_build(kustomize)], run_settings.settings, loader)
    with show_progress() as progress_watch:
        reader = Loader(exclude=run_settings.exclude, named_files=paths)
        result = check_files(
            paths,
            run_settings.settings,
            reader,
            run_settings.exclude,
            progress_watch,
            base_crs,
            run_settings.jobs,
            changed_files,
        )
    if not (result.summary.files or result.limit_hits) and changed_files is None:
        from podplan.cli.output import print_message

        print_message(f"no YAML file in {', '.join(paths)}, so nothing is checked")
    return _without_used_configs(result, run_settings)


def _without_used_configs(result: CheckResult, run_settings: RunSettings) -> CheckResult:
    """Return the result without naming configurations below a folder that are used after all, by --config."""
    if not any(reason.startswith(UNUSED_CONFIG) for reason in result.summary.not_checked):
        return result
    used = " and ".join(setting.source for setting in run_settings.settings_by_key.values())
    not_checked = {
        reason: count
        for reason, count in result.summary.not_checked.items()
        if not reason.startswith(UNUSED_CONFIG) or f"{reason[len(UNUSED_CONFIG) + 2 : -1]}:" not in used
    }
    return result._replace(summary=result.summary._replace(not_checked=not_checked))


def is_complete(result: CheckResult) -> bool:
    """Whether all files were checked: no limit was exceeded, and podplan did not fail."""
    return not result.limit_hits and all(one.rule != INTERNAL_ERROR_RULE for one in result.findings)


def require_complete(result: CheckResult) -> None:
    """Raise LimitExceeded if files exceeded a limit, and so were not checked."""
    if result.limit_hits:
        raise LimitExceeded("\npodplan: ".join(one.message for one in result.limit_hits))


def compute_exit_code(result: CheckResult, fail_on: Severity | None) -> int:
    """Return 4 if a profile exceeded a limit or podplan failed, 1 if a finding is at least as severe as
    ``fail_on``, else 0."""
    if any(found.rule in (LIMIT_RULE, INTERNAL_ERROR_RULE) for found in result.findings):
        return INTERNAL_ERROR
    has_failures = fail_on is not None and any(found.severity >= fail_on for found in result.findings)
    return FINDINGS if has_failures else CLEAN
