"""--fix and --diff of podplan check"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from podplan.checker.check import CheckResult
from podplan.cli.exit_codes import CLEAN, FINDINGS
from podplan.cli.options import RunSettings
from podplan.cli.output import replace_text, write_escaped_stderr, write_stdout
from podplan.cli.progress import show_progress
from podplan.core.errors import UsageError
from podplan.core.typing import TYPE_CHECKING, Any, TypeVar
from podplan.report.sanitization import escape_workflow_commands
from podplan.report.terminal_style import Style

if TYPE_CHECKING:
    from podplan.tools.fixer import FixResult

Command = TypeVar("Command", bound=Callable[..., Any])


def fix_options(command: Command) -> Command:
    """Add --fix, --unsafe-fixes, --fix-only and --diff."""
    for option in (
        click.option("--diff", is_flag=True, help="Print the changes of --fix without writing files."),
        click.option("--fix-only", is_flag=True, help="Fix, and do not report the remaining findings."),
        click.option(
            "--unsafe-fixes", is_flag=True, help="Also apply fixes that may change what a job does."
        ),
        click.option("--fix", is_flag=True, help="Apply safe fixes, and report the remaining findings."),
    ):
        command = option(command)
    return command


def apply_fixes(paths: Sequence[str], run_settings: RunSettings, unsafe: bool) -> CheckResult:
    """Fix the files, and return the remaining findings. Raises UsageError: if a file changed meanwhile."""
    from podplan.report.fixes import format_fix_summary

    fix_result = _compute_fixes(paths, run_settings, unsafe)
    for file, text in fix_result.texts.items():
        replace_text(file, fix_result.before[file], text)
    write_escaped_stderr(format_fix_summary(fix_result, written=True))
    return fix_result.result


def show_fix_diff(paths: Sequence[str], run_settings: RunSettings, unsafe: bool, style: Style) -> int:
    """Print the diff of all fixes; return 1 if there is one."""
    from podplan.report.fixes import format_fix_summary, render_fix_diff

    fix_result = _compute_fixes(paths, run_settings, unsafe)
    write_stdout(escape_workflow_commands(render_fix_diff(fix_result, style)))
    write_escaped_stderr(format_fix_summary(fix_result, written=False))
    return FINDINGS if fix_result.texts else CLEAN


def _compute_fixes(paths: Sequence[str], run_settings: RunSettings, unsafe: bool) -> FixResult:
    from podplan.tools.fixer import fix_files

    if list(paths) == ["-"]:
        raise UsageError("standard input cannot be repaired; name the file")
    with show_progress() as progress_watch:
        return fix_files(paths, run_settings.settings, run_settings.exclude, unsafe, progress_watch)
