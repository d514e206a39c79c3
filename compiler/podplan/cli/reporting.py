"""The reports of a command: format, files, colours."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from podplan.checker.check import CheckResult
from podplan.cli.output import replace_file, write_stdout
from podplan.core.errors import UsageError
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from podplan.report.sanitization import escape_workflow_commands
from podplan.report.terminal_style import PLAIN, Style

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

Command = TypeVar("Command", bound=Callable[..., Any])

STYLED_FORMATS = ("full", "concise")
FORMATS = (
    *STYLED_FORMATS,
    "json",
    "jsonl",
    "sarif",
    "github",
    "gitlab",
    "junit",
    "rdjson",
    "markdown",
    "argocd",
)
COLOR_CHOICES = ("auto", "always", "never")


class ReportTargets(NamedTuple):
    """What to print, and which report to write to which file."""

    format: str
    files: tuple[tuple[str, str], ...]
    style: Style


def _complete_output(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete FORMAT=, and then a file."""
    from podplan.cli.shell_completion import complete_files, completion_items

    if "=" in incomplete:
        return complete_files(ctx, param, incomplete)
    return completion_items(((f"{name}=", "") for name in FORMATS), incomplete)


def report_options(command: Command) -> Command:
    """Add --format, --output, --statistics and --color."""
    import click

    for option in (
        click.option(
            "--color",
            type=click.Choice(COLOR_CHOICES),
            default="auto",
            help="Colour of text output [auto].",
        ),
        click.option(
            "--statistics",
            is_flag=True,
            help="Print the number of findings per rule instead of the findings.",
        ),
        click.option(
            "--output",
            "outputs",
            metavar="FORMAT=FILE",
            multiple=True,
            shell_complete=_complete_output,
            help="Also write a report to FILE; repeatable.",
        ),
        click.option(
            "--format",
            "format_",
            type=click.Choice(FORMATS),
            default="full",
            help="Format of the findings [full].",
        ),
    ):
        command = option(command)
    return command


def parse_report_flags(format_: str, outputs: Sequence[str], statistics: bool, color: str) -> ReportTargets:
    """Parse the flags. Raises UsageError: for an output that is not FORMAT=FILE."""
    files = tuple(_parse_output(text) for text in outputs)
    return ReportTargets("statistics" if statistics else format_, files, select_style(color, os.environ))


def write_reports(result: CheckResult, targets: ReportTargets) -> None:
    """Print the result and write it to the files. Raises UsageError: if a file cannot be written."""
    write_report_texts(render_reports(result, targets), targets)


def render_reports(result: CheckResult, targets: ReportTargets) -> tuple[str, ...]:
    """Render the text for each file, and last the printed one."""
    file_reports = (render_report(result, format_) for format_, _ in targets.files)
    return (*file_reports, render_report(result, targets.format, targets.style))


def write_report_texts(report_texts: tuple[str, ...], targets: ReportTargets) -> None:
    """Write the files, then print. Raises UsageError: if a file cannot be written."""
    for (_, path), text in zip(targets.files, report_texts[:-1], strict=True):
        replace_file(path, text)
    write_stdout(report_texts[-1])


def render_report(result: CheckResult, format_: str, style: Style = PLAIN) -> str:
    """Render a result in a format."""
    render: Callable[..., str] = import_module(f"podplan.report.{format_}").render
    return escape_workflow_commands(render(result, style)) if format_ in STYLED_FORMATS else render(result)


def select_style(color: str, environment: Mapping[str, str]) -> Style:
    """Return colours and width of standard output.

    The flag overrides FORCE_COLOR, which overrides NO_COLOR (https://no-color.org: any value but the empty
    one), which overrides whether standard output is a terminal.
    """
    terminal = sys.stdout is not None and sys.stdout.isatty()
    if color != "auto":
        colour = color == "always"
    elif environment.get("FORCE_COLOR", "") not in ("", "0"):
        colour = True
    else:
        colour = terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    if not terminal:
        return PLAIN._replace(colour=colour)
    return Style(colour, os.get_terminal_size(sys.stdout.fileno()).columns or PLAIN.width, wraps=True)


def _parse_output(text: str) -> tuple[str, str]:
    format_, equals, path = text.partition("=")
    if not equals or not path:
        raise UsageError(f'--output wants FORMAT=FILE, not "{text}"')
    if format_ not in FORMATS:
        raise UsageError(f'--output: no format "{format_}"; there are {", ".join(FORMATS)}')
    return format_, path
