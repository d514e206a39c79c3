"""podplan check"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import click

from podplan.check import Result, check, check_sources
from podplan.cli.exits import CLEAN, FINDINGS
from podplan.cli.options import Request, default_paths, input_options, lowering_options, request
from podplan.cli.output import write
from podplan.findings import Severity
from podplan.reading import Reader, standard_input

FORMATS = ("full", "concise", "json")


@click.command("check")
@click.argument("paths", nargs=-1)
@input_options
@lowering_options
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default="full", help="How findings are printed."
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
def command(paths: Sequence[str], format_: str, exit_zero: bool, **flags: Any) -> int:
    """Check profiles, CRs and what they lower to, and report at the line that somebody wrote.

    PATHS are files or folders (default: this folder); - is standard input. Profiles are checked as
    written and under every environment, unless -e names some.
    """
    wanted = request(default_paths(paths), **flags)
    settings = wanted.settings._replace(environments=wanted.settings.environments or "all")
    wanted = wanted._replace(settings=settings)
    result = run(default_paths(paths), wanted, flags["stdin_filename"])
    write(renderer(format_)(result))
    return CLEAN if exit_zero else exit_code(result, wanted.fail_on)


def run(paths: Sequence[str], wanted: Request, stdin_filename: str = "") -> Result:
    """The result for paths, or for standard input where the path is ``-``."""
    if list(paths) == ["-"]:
        return check_sources([standard_input(stdin_filename)], wanted.settings, Reader())
    return check(paths, wanted.settings, Reader(), wanted.exclude)


def renderer(format_: str) -> Callable[[Result], str]:
    """The function that turns a result into the text of a format."""
    module = import_module(f"podplan.report.{format_}")
    render: Callable[[Result], str] = module.render
    return render


def exit_code(result: Result, fail_on: Severity | None) -> int:
    """1 where something found is at least as severe as ``fail_on``, else 0."""
    bad = fail_on is not None and any(found.severity >= fail_on for found in result.findings)
    return FINDINGS if bad else CLEAN
