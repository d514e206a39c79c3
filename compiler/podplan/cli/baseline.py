"""podplan baseline"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

import click

from podplan.cli.check_run import checking, demand_all, run
from podplan.cli.lint_config import read_baseline, rule_options
from podplan.cli.options import default_paths, input_options, lowering_options
from podplan.cli.output import replace_file, say, say_unread, write_text
from podplan.cli.shell_completion import files
from podplan.core.limits import MAX_FILE_BYTES, BoundExceeded, beyond
from podplan.core.typing import Any, NamedTuple, TypeVar
from podplan.lint.baseline import DEFAULT_FILE, Entry, collected, pruned, written
from podplan.lint.lint_config import Terms, ruling_under, sections_of
from podplan.lint.suppressions import may_be_silenced
from podplan.workspace.files import expand, from_root, root_of

Command = TypeVar("Command", bound=Callable[..., Any])


class Now(NamedTuple):
    """What a check without the baseline finds, and the ``file`` of the baseline.

    ``said`` are the files of which all was said, as seen from the root; ``undecided`` the rules that lacked
    something.
    """

    entries: tuple[Entry, ...]
    file: str
    said: frozenset[str]
    undecided: frozenset[str]
    terms: Terms


def _options(command: Command) -> Command:
    for option in (
        click.option(
            "--baseline",
            metavar="FILE",
            shell_complete=files,
            default="",
            help=f"The baseline [{DEFAULT_FILE}].",
        ),
        rule_options,
        lowering_options,
        input_options,
        click.argument("paths", nargs=-1, shell_complete=files),
    ):
        command = option(command)
    return command


@click.group("baseline")
def command() -> None:
    """The findings that are known, so that podplan check leaves them out."""


@command.command("create")
@_options
def create(paths: Sequence[str], **flags: Any) -> int:
    """Write all that podplan check PATHS finds now into the baseline, in place of what is in there."""
    now = _now(paths, flags)
    _keep(now.file, now.entries)
    _say(f"{now.file}: {_counted(now.entries)}")
    return 0


@command.command("prune")
@_options
def prune(paths: Sequence[str], **flags: Any) -> int:
    """Take out of the baseline what podplan check PATHS no longer finds.

    What is known of other files stays, unless they are gone.
    """
    now = _now(paths, flags)
    kept, left_out = pruned(read_baseline(now.file), now.entries, lambda one: _is_gone(one, now))
    _keep(now.file, kept)
    _say(f"{now.file}: {_counted(left_out)} taken out, {_number(kept)} left")
    return 0


@command.command("show")
@_options
def show(paths: Sequence[str], **flags: Any) -> int:
    """List what is in the baseline; what podplan check PATHS no longer finds is marked as gone."""
    now = _now(paths, flags)
    kept, left_out = pruned(read_baseline(now.file), now.entries, lambda one: _is_gone(one, now))
    write_text(
        "".join(f"{_line(one)}\n" for one in kept) + "".join(f"{_line(one)} (gone)\n" for one in left_out)
    )
    _say(f"{now.file}: {_counted(kept)} still there, {_number(left_out)} gone")
    return 0


def _keep(file: str, entries: Iterable[Entry]) -> None:
    """Writes a baseline. Raises BoundExceeded where it could not be read again."""
    text = written(entries)
    size = len(text.encode(errors="surrogateescape"))
    if size > MAX_FILE_BYTES:
        message = (
            f"{file} would have {size:,} bytes, and at most {MAX_FILE_BYTES:,} are read from one file;"
            " leave rules out with --ignore"
        )
        raise BoundExceeded(beyond("file-bytes", message), file)
    replace_file(file, text)


def _now(paths: Sequence[str], flags: dict[str, Any]) -> Now:
    paths = default_paths(paths)
    wanted = checking(paths, baseline_is_read=False, **flags)
    terms = wanted.settings.terms
    result = run(paths, wanted, flags["stdin_filename"])
    demand_all(result)
    say_unread(result.summary.unreadable_folders, ())
    known = [found for found in result.findings if may_be_silenced(found, terms)]
    entries = collected(known, result.texts)
    baseline = wanted.origins["baseline"].value or DEFAULT_FILE
    everything = wanted.settings.environments == "all" and not wanted.settings.sets and paths != ("-",)
    files = expand(paths, wanted.exclude, []) if everything else ()
    said = frozenset(from_root(file) for file in files if file not in result.unlowered)
    return Now(entries, baseline, said, result.undecided, terms)


def _is_gone(one: Entry, now: Now) -> bool:
    """Whether an entry that is not found would have been: its file is not there, or all was said of it."""
    path = os.path.join(root_of(now.file), one.file)
    if not _is_there(path):
        return True
    on = ruling_under(now.terms, sections_of(now.terms, path)).codes
    return one.file in now.said and one.rule in on - now.undecided


def _is_there(path: str) -> bool:
    """Whether a file is there, or is in a folder that cannot be read, so that it may be."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _line(one: Entry) -> str:
    named = [part for part in one.named[1:] if part] if one.named else []
    where = "/".join(named) or one.file
    times = f" ({one.times} times)" if one.times > 1 else ""
    return f"{one.file}: {one.rule} {where} {one.path}".rstrip() + f": {one.message}{times}"


def _number(entries: Iterable[Entry]) -> int:
    return sum(one.times for one in entries)


def _counted(entries: Iterable[Entry]) -> str:
    number = _number(entries)
    return f"{number} finding{'' if number == 1 else 's'}"


def _say(message: str) -> None:
    say(f"{message}")
