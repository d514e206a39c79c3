"""podplan check"""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from podplan.checker.check import CheckResult
from podplan.cli.change_filter import change_options, check_change, parse_change_flags
from podplan.cli.check_run import check_and_report, report_result, resolve_check_settings
from podplan.cli.exit_codes import CLEAN, FINDINGS
from podplan.cli.fix import apply_fixes, fix_options, show_fix_diff
from podplan.cli.help import HelpCommand
from podplan.cli.lint_config import rule_options
from podplan.cli.options import (
    RunSettings,
    input_options,
    kustomize_option,
    lowering_options,
    require_no_paths,
)
from podplan.cli.output import write_escaped_stdout
from podplan.cli.reports import ReportTargets, parse_report_flags, report_options
from podplan.cli.settings import format_settings
from podplan.cli.shell_completion import complete_files
from podplan.core.errors import UsageError
from podplan.core.typing import Any
from podplan.workspace.files import find_root


@click.command("check", cls=HelpCommand)
@click.argument("paths", nargs=-1, shell_complete=complete_files)
@input_options
@lowering_options
@kustomize_option
@rule_options
@click.option(
    "--baseline",
    metavar="FILE",
    shell_complete=complete_files,
    default="",
    help="Do not report the findings listed in FILE.",
)
@click.option("--show-settings", is_flag=True, help="Print each setting with its source, and exit.")
@change_options
@report_options
@fix_options
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option(
    "-j",
    "--jobs",
    metavar="N",
    type=click.IntRange(0),
    default=0,
    help="Number of worker processes; 0 chooses it by the amount of work [0].",
)
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache.")
@click.option("--cache-dir", metavar="DIR", default="", help="Folder of the cache.")
def command(
    paths: Sequence[str],
    format_: str,
    outputs: Sequence[str],
    statistics: bool,
    color: str,
    exit_zero: bool,
    show_settings: bool,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    fix_only: bool,
    show: str | None,
    verbose: bool,
    quiet: bool,
    min_severity: str | None,
    affected_by: bool,
    changed_since: str,
    new_since: str,
    base: str,
    no_cache: bool,
    cache_dir: str,
    **flags: Any,
) -> int:
    """Check job profiles, CRs and the objects that controllers will create for them.

    PATHS are files or folders (default: the current folder); - reads standard input. A profile is checked
    as written and in each of its environments; -e selects environments.
    """
    report_targets = parse_report_flags(
        format_, outputs, statistics, color, show, verbose, quiet, min_severity
    )
    change = parse_change_flags(affected_by, changed_since, new_since, base)
    if change is not None and (fix or fix_only or diff):
        raise UsageError("what is repaired is not chosen by a change; repair without naming one")
    if change is not None and flags["kustomize"]:
        raise UsageError("-k does not compare revisions; leave out the options that name a change")
    if change is not None and not show_settings:
        result, run_settings = check_change(paths, change, flags)
        return _report_with_exit_code(result, run_settings, report_targets, exit_zero)
    kustomize = flags["kustomize"]
    paths = require_no_paths(paths, kustomize)
    if kustomize and (diff or fix or fix_only):
        raise UsageError("what kustomize builds cannot be fixed; fix the files that it reads")
    if not (show_settings or diff or fix or fix_only):
        code = check_and_report(paths, flags, report_targets, None if no_cache or kustomize else cache_dir)
        return CLEAN if exit_zero and code == FINDINGS else code
    run_settings = resolve_check_settings(paths, **flags)
    if show_settings:
        root = find_root(os.curdir if paths[0] == "-" else paths[0])
        write_escaped_stdout(f"# root: {root}\n{format_settings(run_settings.settings_by_key)}")
        return CLEAN
    if diff:
        return show_fix_diff(paths, run_settings, unsafe_fixes, report_targets.style)
    result = apply_fixes(paths, run_settings, unsafe_fixes)
    return CLEAN if fix_only else _report_with_exit_code(result, run_settings, report_targets, exit_zero)


def _report_with_exit_code(
    result: CheckResult, run_settings: RunSettings, report_targets: ReportTargets, exit_zero: bool
) -> int:
    """Print the result, and return the exit code."""
    code = report_result(result, run_settings, report_targets)
    return CLEAN if exit_zero and code == FINDINGS else code
