"""The reports of a command: format, files, colours."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from podplan.checker.check import CheckResult, filter_result
from podplan.checker.result import unlist_findings
from podplan.cli.output import replace_file, write_stdout
from podplan.core.errors import UsageError
from podplan.core.findings import Severity
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


class ListedSeverities(NamedTuple):
    """Which findings are listed.

    ``text`` is the lowest severity that the formats for people list; they count the others. ``minimum`` is
    that of all formats.
    """

    text: Severity = Severity.INFO
    minimum: Severity = Severity.INFO


LIST_ALL = ListedSeverities()


class ReportTargets(NamedTuple):
    """What to print, and which report to write to which file."""

    format: str
    files: tuple[tuple[str, str], ...]
    style: Style
    listing: ListedSeverities = ListedSeverities(text=Severity.WARNING)

    def list_failures(self, fail_on: Severity | None) -> ReportTargets:
        """Return the targets; findings that make the run fail are listed, whatever their severity is."""
        lowest = self.listing.text if fail_on is None else min(self.listing.text, fail_on)
        return self._replace(listing=self.listing._replace(text=lowest))


def _complete_output(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete FORMAT=, and then a file."""
    from podplan.cli.shell_completion import complete_files, completion_items

    if "=" in incomplete:
        return complete_files(ctx, param, incomplete)
    return completion_items(((f"{name}=", "") for name in FORMATS), incomplete)


def report_options(command: Command) -> Command:
    """Add --format, --output, --statistics, --show, --verbose, --quiet, --min-severity and --color."""
    import click

    severities = click.Choice([str(severity) for severity in sorted(Severity, reverse=True)])
    command = color_options("Colour of text output [auto].")(command)
    for option in (
        click.option(
            "--min-severity",
            type=severities,
            default=None,
            help="Leave findings below this severity out of every format; the exit code stays the same.",
        ),
        click.option("-q", "--quiet", is_flag=True, help="Print findings without the summary."),
        click.option("-v", "--verbose", is_flag=True, help="List infos, too: the same as --show info."),
        click.option(
            "--show",
            type=severities,
            default=None,
            help="Lowest severity that text output lists; others are counted [warning].",
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


def color_options(help_text: str) -> Callable[[Command], Command]:
    """Add --color with a help text, and --no-color."""
    import click

    def remember(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
        ctx.meta["podplan.no-color"] = value

    def choose(ctx: click.Context, _param: click.Parameter, value: str) -> str:
        return "never" if ctx.meta.get("podplan.no-color") else value

    def decorate(command: Command) -> Command:
        no_color = click.option(
            "--no-color",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=remember,
            help="The same as --color never.",
        )
        color = click.option(
            "--color", type=click.Choice(COLOR_CHOICES), default="auto", callback=choose, help=help_text
        )
        return color(no_color(command))

    return decorate


def parse_report_flags(
    format_: str,
    outputs: Sequence[str],
    statistics: bool,
    color: str,
    show: str | None = None,
    verbose: bool = False,
    quiet: bool = False,
    min_severity: str | None = None,
) -> ReportTargets:
    """Parse the flags. Raises UsageError: for an output that is not FORMAT=FILE."""
    files = tuple(_parse_output(text) for text in outputs)
    minimum = Severity[min_severity.upper()] if min_severity else Severity.INFO
    shown = Severity.INFO if verbose else Severity[show.upper()] if show else Severity.WARNING
    style = select_style(color, os.environ)._replace(has_summary=not quiet, lists_kinds=verbose)
    return ReportTargets(
        "statistics" if statistics else format_, files, style, ListedSeverities(shown, minimum)
    )


def write_reports(result: CheckResult, targets: ReportTargets) -> None:
    """Print the result and write it to the files. Raises UsageError: if a file cannot be written."""
    write_report_texts(render_reports(result, targets), targets)


def render_reports(result: CheckResult, targets: ReportTargets) -> tuple[str, ...]:
    """Render the text for each file, and last the printed one."""
    minimum = targets.listing.minimum
    if minimum is not Severity.INFO:
        result = filter_result(result, lambda found: found.severity >= minimum)
    file_reports = (render_report(result, format_, listing=targets.listing) for format_, _ in targets.files)
    return (*file_reports, render_report(result, targets.format, targets.style, targets.listing))


def write_report_texts(report_texts: tuple[str, ...], targets: ReportTargets) -> None:
    """Write the files, then print. Raises UsageError: if a file cannot be written."""
    for (_, path), text in zip(targets.files, report_texts[:-1], strict=True):
        replace_file(path, text)
    write_stdout(report_texts[-1])


def render_report(
    result: CheckResult, format_: str, style: Style = PLAIN, listing: ListedSeverities = LIST_ALL
) -> str:
    """Render a result in a format."""
    render: Callable[..., str] = import_module(f"podplan.report.{format_}").render
    if format_ not in STYLED_FORMATS:
        return render(result)
    return escape_workflow_commands(render(unlist_findings(result, listing.text), style))


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
