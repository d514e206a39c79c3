"""podplan baseline"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

import click

from podplan.cli.check_run import require_complete, resolve_check_settings, run_check
from podplan.cli.help import HelpGroup
from podplan.cli.lint_config import read_baseline, rule_options
from podplan.cli.options import default_paths, input_options, lowering_options
from podplan.cli.output import print_message, replace_file, say_unread, write_escaped_stdout
from podplan.cli.shell_completion import complete_files
from podplan.core.limits import MAX_FILE_BYTES, LimitExceeded, limit_exceeded
from podplan.core.typing import Any, NamedTuple, TypeVar
from podplan.lint.baseline import (
    DEFAULT_FILE,
    BaselineEntry,
    collect_entries,
    prune_entries,
    serialize_baseline,
)
from podplan.lint.lint_config import LintConfig, find_matching_selections, resolve_rules_for_selections
from podplan.lint.suppressions import is_suppressible
from podplan.workspace.files import expand_paths, find_root, relative_to_root

Command = TypeVar("Command", bound=Callable[..., Any])


class CurrentFindings(NamedTuple):
    """The findings of a check without the baseline, and the ``file`` of the baseline.

    ``checked_files`` are the completely checked files, relative to the root; ``undecided_rules`` could not be
    evaluated.
    """

    entries: tuple[BaselineEntry, ...]
    file: str
    checked_files: frozenset[str]
    undecided_rules: frozenset[str]
    lint_config: LintConfig


def _baseline_options(command: Command) -> Command:
    for option in (
        click.option(
            "--baseline",
            metavar="FILE",
            shell_complete=complete_files,
            default="",
            help=f"Baseline file [{DEFAULT_FILE}].",
        ),
        rule_options,
        lowering_options,
        input_options,
        click.argument("paths", nargs=-1, shell_complete=complete_files),
    ):
        command = option(command)
    return command


@click.group("baseline", cls=HelpGroup)
def command() -> None:
    """Manage the baseline: known findings that podplan check does not report."""


@command.command("create")
@_baseline_options
def create(paths: Sequence[str], **flags: Any) -> int:
    """Replace the baseline with the current findings of podplan check PATHS."""
    current = _find_current(paths, flags)
    _write_baseline(current.file, current.entries)
    _print_status(f"{current.file}: {_format_finding_count(current.entries)}")
    return 0


@command.command("prune")
@_baseline_options
def prune(paths: Sequence[str], **flags: Any) -> int:
    """Remove findings that podplan check PATHS no longer reports from the baseline.

    Entries of files outside PATHS stay, unless the files no longer exist.
    """
    current = _find_current(paths, flags)
    remaining, removed = prune_entries(
        read_baseline(current.file), current.entries, lambda one: _is_resolved(one, current)
    )
    _write_baseline(current.file, remaining)
    _print_status(
        f"{current.file}: {_format_finding_count(removed)} taken out, {_count_findings(remaining)} left"
    )
    return 0


@command.command("show")
@_baseline_options
def show(paths: Sequence[str], **flags: Any) -> int:
    """List the baseline, and mark findings that podplan check PATHS no longer reports."""
    current = _find_current(paths, flags)
    remaining, resolved = prune_entries(
        read_baseline(current.file), current.entries, lambda one: _is_resolved(one, current)
    )
    write_escaped_stdout(
        "".join(f"{_format_entry(one)}\n" for one in remaining)
        + "".join(f"{_format_entry(one)} (gone)\n" for one in resolved)
    )
    _print_status(
        f"{current.file}: {_format_finding_count(remaining)} still there, {_count_findings(resolved)} gone"
    )
    return 0


def _write_baseline(file: str, entries: Iterable[BaselineEntry]) -> None:
    """Write a baseline. Raises LimitExceeded: if it would be too big to be read."""
    text = serialize_baseline(entries)
    size = len(text.encode(errors="surrogateescape"))
    if size > MAX_FILE_BYTES:
        message = (
            f"{file} would have {size:,} bytes, and at most {MAX_FILE_BYTES:,} are read from one file;"
            " leave rules out with --ignore"
        )
        raise LimitExceeded(limit_exceeded("file-bytes", message), file)
    replace_file(file, text)


def _find_current(paths: Sequence[str], flags: dict[str, Any]) -> CurrentFindings:
    paths = default_paths(paths)
    run_settings = resolve_check_settings(paths, baseline_is_read=False, **flags)
    lint_config = run_settings.settings.lint_config
    result = run_check(paths, run_settings, flags["stdin_filename"])
    require_complete(result)
    say_unread(result.summary.unreadable_folders, ())
    suppressible = [found for found in result.findings if is_suppressible(found, lint_config)]
    entries = collect_entries(suppressible, result.redacted_texts)
    baseline = run_settings.settings_by_key["baseline"].value or DEFAULT_FILE
    checks_everything = (
        run_settings.settings.environments == "all"
        and not run_settings.settings.param_values
        and paths != ("-",)
    )
    files = expand_paths(paths, run_settings.exclude, []) if checks_everything else ()
    checked_files = frozenset(relative_to_root(file) for file in files if file not in result.unlowered_files)
    return CurrentFindings(entries, baseline, checked_files, result.undecided_rules, lint_config)


def _is_resolved(entry: BaselineEntry, current: CurrentFindings) -> bool:
    """Whether an entry without a finding is resolved: its file is missing, or was completely checked."""
    path = os.path.join(find_root(current.file), entry.file)
    if not _is_there(path):
        return True
    selected_codes = resolve_rules_for_selections(
        current.lint_config, find_matching_selections(current.lint_config, path)
    ).enabled_codes
    return entry.file in current.checked_files and entry.rule in selected_codes - current.undecided_rules


def _is_there(path: str) -> bool:
    """Whether a file exists, or is in a folder that cannot be read, so that it may exist."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _format_entry(entry: BaselineEntry) -> str:
    name_parts = [part for part in entry.object_id[1:] if part] if entry.object_id else []
    subject = "/".join(name_parts) or entry.file
    times = f" ({entry.occurrences} times)" if entry.occurrences > 1 else ""
    return f"{entry.file}: {entry.rule} {subject} {entry.path}".rstrip() + f": {entry.message}{times}"


def _count_findings(entries: Iterable[BaselineEntry]) -> int:
    return sum(one.occurrences for one in entries)


def _format_finding_count(entries: Iterable[BaselineEntry]) -> str:
    number = _count_findings(entries)
    return f"{number} finding{'' if number == 1 else 's'}"


def _print_status(message: str) -> None:
    print_message(f"{message}")
