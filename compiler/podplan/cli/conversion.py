"""podplan migrate --to"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from podplan.cli.exit_codes import CLEAN, FINDINGS, NO_INPUT
from podplan.cli.options import resolve_run_settings
from podplan.cli.output import (
    print_message,
    replace_text,
    say_unread,
    write_escaped_stderr,
    write_stdout,
)
from podplan.core.errors import UsageError
from podplan.core.suggestions import suggest_name
from podplan.core.typing import Any
from podplan.kinds.registry import KIND_NAMES
from podplan.report.conversion import render_json, render_markdown, render_text
from podplan.report.fixes import render_redacted_diff
from podplan.report.format_result import format_source_error
from podplan.report.migration import format_summary
from podplan.tools.migrator.conversions import FileConversion, convert_files, find_target, list_changed
from podplan.tools.migrator.verification import find_regressions
from podplan.workspace.documents import may_hold
from podplan.workspace.file_loader import SkippedFile, load_files
from podplan.workspace.files import expand_paths
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile

RENDERERS = {"text": render_text, "json": render_json, "markdown": render_markdown}


def convert_paths(
    paths: Sequence[str],
    kind: str,
    format_: str,
    check: bool,
    diff: bool,
    style: Any,
    flags: Mapping[str, Any],
) -> int:
    """Convert the jobs at paths to a kind, and return the exit code.

    Raises UsageError: if no kind becomes this one.
    """
    target = find_target(kind)
    if target is None:
        nearest = suggest_name(kind, KIND_NAMES)
        hint = f"; did you mean {nearest}?" if nearest and nearest != kind else ""
        raise UsageError(f"--to {kind}: nothing is migrated to this kind{hint}")
    run_settings = resolve_run_settings(paths, environments=("all",), **flags)
    sources: list[SourceFile] = []
    broken_count = 0
    folders: list[str] = []
    unread: list[SkippedFile] = []
    for source in load_files(expand_paths(paths, run_settings.exclude, folders)):
        if isinstance(source, SkippedFile):
            unread.append(source)
        elif source.diagnostics and may_hold(source, frozenset({"cr"})):
            broken_count += 1
            write_escaped_stderr(f"{format_source_error(source)}\n")
        else:
            sources.append(source)
    say_unread(folders, unread)
    loader = Loader(exclude=run_settings.exclude, named_files=paths)
    conversions = convert_files(sources, target, run_settings.settings, loader)
    if not conversions and not broken_count:
        print_message(f"no job here that becomes a {kind}, so nothing to migrate")
        return NO_INPUT
    texts = list_changed(conversions)
    settings = run_settings.settings._replace(
        lowering_options=target.options(run_settings.settings.lowering_options)
    )
    withheld = find_regressions(paths, settings, run_settings.exclude, texts) if texts else {}
    conversions = [one._replace(withheld=withheld.get(one.file, "")) for one in conversions]
    accepted = {file: text for file, text in texts.items() if file not in withheld}
    _print_result(conversions, accepted, format_, diff, style)
    if not (check or diff):
        for one in conversions:
            if one.file in accepted:
                replace_text(one.file, one.before, one.after)
    failed = sum(one.file not in accepted for one in conversions) + broken_count
    for group, version in settings.lowering_options.operator_versions.items():
        stated = run_settings.settings.lowering_options.operator_versions.get(group, version)
        if stated != version and accepted:
            print_message(
                f"the configuration states {group} {stated}, and these jobs are for {version}: set"
                f' [lowering."{group}"] version = "{version}" when the cluster has it'
            )
    if style.has_summary:
        click.echo(format_summary(len(accepted), 0, failed, check or diff), err=True)
    is_unfinished = broken_count or any(one.is_unfinished for one in conversions)
    return FINDINGS if is_unfinished or (accepted and (check or diff)) else CLEAN


def _print_result(
    conversions: list[FileConversion], accepted: Mapping[str, str], format_: str, diff: bool, style: Any
) -> None:
    report = RENDERERS[format_](conversions)
    if not diff:
        write_stdout(report)
        return
    write_escaped_stderr(report)
    before = {one.file: one.before for one in conversions if one.file in accepted}
    write_stdout(render_redacted_diff(before, accepted, style))
