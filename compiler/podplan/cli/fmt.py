"""podplan fmt"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import click

from podplan.cli.exit_codes import CLEAN, FINDINGS, NO_INPUT
from podplan.cli.help import HelpCommand
from podplan.cli.options import default_paths, exclude_option, quiet_option, resolve_run_settings
from podplan.cli.output import (
    print_message,
    replace_text,
    say_unread,
    write_escaped_stderr,
    write_escaped_stdout,
    write_stdout,
)
from podplan.cli.reports import color_options, select_style
from podplan.core.errors import UsageError
from podplan.core.typing import Any
from podplan.pipeline import PipelineSettings
from podplan.report.fixes import render_redacted_diff
from podplan.report.format_result import format_counts, format_source_error
from podplan.report.sanitization import escape_text
from podplan.tools.formatter import SCHEMA_BY_CATEGORY, format_source
from podplan.tools.formatter.equivalence import require_equivalent
from podplan.workspace.documents import may_hold
from podplan.workspace.file_loader import SkippedFile, load_files, read_standard_input
from podplan.workspace.files import expand_paths
from podplan.yaml import SourceFile


@click.command("fmt", cls=HelpCommand)
@click.argument("paths", nargs=-1)
@click.option(
    "--check",
    is_flag=True,
    help="List the files that would change without writing them; exit with 1 if there are any.",
)
@click.option("--diff", is_flag=True, help="Print the changes without writing files.")
@click.option("--allow-nothing", is_flag=True, help="Exit with 0 instead of 3 if there is nothing to format.")
@click.option("--inventory", metavar="FILE", default="", help="ClusterInventory file [the nearest].")
@click.option(
    "--stdin-filename", metavar="FILE", default="", help="File name to report for standard input (-)."
)
@exclude_option()
@click.option(
    "--config", metavar="FILE", default="", help="Configuration file to use instead of the nearest one."
)
@click.option("--isolated", is_flag=True, help="Ignore configuration files.")
@quiet_option()
@color_options("Colour of --diff [auto].")
def command(
    paths: Sequence[str],
    check: bool,
    diff: bool,
    allow_nothing: bool,
    stdin_filename: str,
    quiet: bool,
    color: str,
    **flags: Any,
) -> int:
    """Format profiles, bases and inventories; comments and data stay the same.

    PATHS are files or folders (default: the current folder); - reads standard input and prints the result.
    Other documents are not changed.
    """
    paths = default_paths(paths)
    run_settings = resolve_run_settings(paths, **flags)
    from_input = list(paths) == ["-"]
    folders: list[str] = []
    loaded_files: Iterable[SourceFile | SkippedFile] = (
        [read_standard_input(stdin_filename)]
        if from_input
        else load_files(expand_paths(paths, run_settings.exclude, folders))
    )
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    invalid_sources: list[SourceFile] = []
    unread: list[SkippedFile] = []
    for source in loaded_files:
        if isinstance(source, SkippedFile):
            unread.append(source)
            continue
        if not may_hold(source, SCHEMA_BY_CATEGORY):
            continue
        if source.diagnostics:
            invalid_sources.append(source)
            continue
        before[source.file], after[source.file] = (
            source.text,
            _format_source_text(source, run_settings.settings),
        )
    changed = {file: text for file, text in after.items() if text != before[file]}
    say_unread(folders, unread)
    for source in invalid_sources:
        write_escaped_stderr(f"{format_source_error(source)}\n")
    if diff:
        write_stdout(render_redacted_diff(before, changed, select_style(color, os.environ)))
    elif check:
        write_escaped_stdout("".join(f"would reformat {escape_text(file)}\n" for file in changed))
    elif from_input:
        write_stdout("".join(after.values()))
    else:
        for file, text in changed.items():
            replace_text(file, before[file], text)
    if not before and not invalid_sources:
        if allow_nothing:
            return CLEAN
        print_message("no profile, base or inventory here, so nothing to format")
        return NO_INPUT
    if not quiet and (not from_input or check or diff):
        click.echo(
            format_counts(len(changed), len(before) - len(changed), len(invalid_sources), check or diff),
            err=True,
        )
    return FINDINGS if invalid_sources or (changed and (check or diff)) else CLEAN


def _format_source_text(source: SourceFile, settings: PipelineSettings) -> str:
    """Return the formatted text, which has the same data. Raises UsageError: for JSON."""
    if source.file.endswith(".json"):
        raise UsageError(f"{source.file} is JSON, and podplan fmt writes YAML")
    text = format_source(source)
    if text != source.text:
        require_equivalent(source, text, settings)
    return text
