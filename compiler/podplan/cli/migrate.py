"""podplan migrate"""

from __future__ import annotations

import os
from collections.abc import Sequence

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
from podplan.report.fixes import render_redacted_diff
from podplan.report.format_result import format_source_error
from podplan.report.migration import format_migration, format_summary
from podplan.tools.migrator import SORTS, MigrationResult, is_migratable, migrate_source
from podplan.tools.migrator.equivalence import build_proofs
from podplan.tools.migrator.verification import find_regressions
from podplan.workspace.documents import may_hold
from podplan.workspace.file_loader import SkippedFile, load_files
from podplan.workspace.files import expand_paths
from podplan.yaml import SourceFile, parse_yaml


@click.command("migrate", cls=HelpCommand)
@click.argument("paths", nargs=-1)
@click.option(
    "--check", is_flag=True, help="List the changes without writing files; exit with 1 if there are any."
)
@click.option("--diff", is_flag=True, help="Print the changes without writing files.")
@click.option("--to", metavar="KIND", default="", help="Convert jobs to this kind, their successor.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    help="Format of the result of --to [text].",
)
@click.option("--inventory", metavar="FILE", default="", help="ClusterInventory file [the nearest].")
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
    to: str,
    format_: str,
    quiet: bool,
    color: str,
    **flags: Any,
) -> int:
    """Replace outdated kinds, fields and values in CRs and profiles, and prove that the Pods stay the same.

    A ColossalAIJob with launcher and worker, and an MPIJob of T9k with worker, become jobs with
    replicaSpecs. PATHS are files or folders (default: the current folder).

    --to TrainJob turns PyTorchJobs into TrainJobs, with a runtime of the repository or a new one, and
    TrainJobs for Trainer 2.1 into those for 2.3. It prints what differs for the processes of each job.
    """
    paths = default_paths(paths)
    if "-" in paths:
        raise UsageError("standard input cannot be migrated; name the file")
    if to:
        from podplan.cli.conversion import convert_paths

        style = select_style(color, os.environ)._replace(has_summary=not quiet)
        return convert_paths(paths, to, format_, check, diff, style, flags)
    if format_ != "text":
        raise UsageError("--format goes with --to")
    run_settings = resolve_run_settings(paths, environments=("all",), **flags)
    before: dict[str, SourceFile] = {}
    migrations: dict[str, MigrationResult] = {}
    broken_count = 0
    folders: list[str] = []
    unread: list[SkippedFile] = []
    for source in load_files(expand_paths(paths, run_settings.exclude, folders)):
        if isinstance(source, SkippedFile):
            unread.append(source)
            continue
        if source.diagnostics and may_hold(source, SORTS):
            broken_count += 1
            write_escaped_stderr(f"{format_source_error(source)}\n")
        elif is_migratable(source):
            before[source.file], migrations[source.file] = source, migrate_source(source)
    say_unread(folders, unread)
    if not before and not broken_count:
        print_message("no profile and no training job here, so nothing to migrate")
        return NO_INPUT
    texts = {file: what.text for file, what in migrations.items() if what.done_steps}
    withheld = find_regressions(paths, run_settings.settings, run_settings.exclude, texts) if texts else {}
    accepted = {file: text for file, text in texts.items() if file not in withheld}
    report = ""
    for file, migration in migrations.items():
        after = parse_yaml(migration.text.encode(), file)
        file_proofs = build_proofs(before[file], after, run_settings.settings, texts) if texts else []
        if migration.done_steps or migration.refused_steps or file_proofs:
            report += format_migration(file, migration, file_proofs, withheld.get(file, ""))
    if diff:
        write_escaped_stderr(report)
        written = {file: before[file].text for file in accepted}
        write_stdout(render_redacted_diff(written, accepted, select_style(color, os.environ)))
    else:
        write_escaped_stdout(report)
    if not (check or diff):
        for file, text in accepted.items():
            replace_text(file, before[file].text, text)
    failed_count = sum(
        1
        for file, what in migrations.items()
        if file in withheld or (what.refused_steps and file not in accepted)
    )
    summary_text = format_summary(
        len(accepted),
        len(migrations) - len(accepted) - failed_count,
        failed_count + broken_count,
        check or diff,
    )
    if not quiet:
        click.echo(summary_text, err=True)
    unfinished = broken_count or withheld or any(what.refused_steps for what in migrations.values())
    return FINDINGS if unfinished or (accepted and (check or diff)) else CLEAN
