"""podplan check"""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from podplan.check import Result, check, check_sources
from podplan.cli.completing import files
from podplan.cli.exits import CLEAN, FINDINGS, INTERNAL
from podplan.cli.fixing import fix_options, make_fixes, show_fixes
from podplan.cli.options import Request, default_paths, input_options, lowering_options, request
from podplan.cli.output import write
from podplan.cli.progress import shown as shown_progress
from podplan.cli.reporting import report_options, reports, write_reports
from podplan.cli.settings import shown
from podplan.cli.terms import rule_options
from podplan.findings import Severity
from podplan.limits import BoundExceeded
from podplan.reading import Reader, standard_input
from podplan.rules import LIMIT
from podplan.typing import Any


@click.command("check")
@click.argument("paths", nargs=-1, shell_complete=files)
@input_options
@lowering_options
@rule_options
@click.option(
    "--baseline", metavar="FILE", shell_complete=files, default="", help="Leave out the findings in FILE."
)
@click.option("--show-settings", is_flag=True, help="Print each setting and where it is from, and stop.")
@report_options
@fix_options
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
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
    **flags: Any,
) -> int:
    """Check profiles, CRs and what they lower to, and report at the line that somebody wrote.

    PATHS are files or folders (default: this folder); - is standard input. Profiles are checked as
    written and under every environment, unless -e names some.
    """
    into = reports(format_, outputs, statistics, color)
    wanted = checking(default_paths(paths), **flags)
    if show_settings:
        write(shown(wanted.origins))
        return CLEAN
    if diff:
        return show_fixes(default_paths(paths), wanted, unsafe_fixes, into.style)
    if fix or fix_only:
        result = make_fixes(default_paths(paths), wanted, unsafe_fixes)
        if fix_only:
            return CLEAN
    else:
        result = run(default_paths(paths), wanted, flags["stdin_filename"])
    write_reports(result, into)
    demand_all(result)
    code = exit_code(result, wanted.fail_on)
    return CLEAN if exit_zero and code == FINDINGS else code


def checking(paths: Sequence[str], **flags: Any) -> Request:
    """The request of a command that checks: with every environment, by the clock of UTC."""
    wanted = request(paths, clock=time.strftime("%Y-%m-%d", time.gmtime()), **flags)
    settings = wanted.settings._replace(
        environments=wanted.settings.environments or "all",
        # What a paused job has no Pods for now, it has once it goes on.
        options=wanted.settings.options._replace(resumed=True),
    )
    return wanted._replace(settings=settings)


def run(paths: Sequence[str], wanted: Request, stdin_filename: str = "") -> Result:
    """The result for paths, or for standard input where the path is ``-``."""
    if list(paths) == ["-"]:
        source = standard_input(stdin_filename)
        return check_sources([source], wanted.settings, Reader(exclude=wanted.exclude))
    with shown_progress() as watch:
        return check(paths, wanted.settings, Reader(exclude=wanted.exclude), wanted.exclude, watch)


def demand_all(result: Result) -> None:
    """Raises BoundExceeded where files were left out because they reached a bound."""
    if result.given_up:
        raise BoundExceeded("\npodplan: ".join(result.given_up))


def exit_code(result: Result, fail_on: Severity | None) -> int:
    """4 where a profile reached a limit, 1 where a finding is at least as severe as ``fail_on``, else 0."""
    if any(found.rule == LIMIT for found in result.findings):
        return INTERNAL
    bad = fail_on is not None and any(found.severity >= fail_on for found in result.findings)
    return FINDINGS if bad else CLEAN
