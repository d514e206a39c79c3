"""podplan diff"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import click

from podplan.cli.completing import files
from podplan.cli.exits import CLEAN, FINDINGS, NOTHING
from podplan.cli.mending import told_or_mended
from podplan.cli.options import NO_INPUT_FLAGS, Request, default_paths, input_options, request
from podplan.cli.output import say, write
from podplan.cli.reporting import style_of
from podplan.cli.standing import FILE_FLAGS, alike, from_root, standing_at, standing_in, there, told
from podplan.diff import Diff, Tree, compare, read
from podplan.diff.model import LEVELS, Level
from podplan.diff.trees import demand_environments
from podplan.reading import Reader
from podplan.reading.files import NoSuchPath, expand, root_of
from podplan.reading.opening import DENIED, Unread, sources
from podplan.report.summary import unreadable
from podplan.requests import RequestError


class Side(NamedTuple):
    """One side of the comparison as it was read, what was asked for, and which paths are there.

    ``notes`` say what could not be read.
    """

    tree: Tree
    request: Request
    there: tuple[bool, ...]
    notes: tuple[str, ...] = ()


@click.command("diff")
@click.argument("paths", nargs=-1, shell_complete=files)
@click.option(
    "--base", metavar="REF", default="", help="Compare with where HEAD left REF; REF.. is REF itself."
)
@click.option("--head", metavar="REF", default="", help="This revision, and not the work tree.")
@click.option("--base-tree", metavar="DIR", default="", help="Compare PATH with this folder instead.")
@click.option(
    "--level", type=click.Choice(LEVELS), default="lowered", help="What is compared [lowered: Pods and all]."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    help="Of the output.",
)
@click.option("--summary", is_flag=True, help="The impact and the jobs, without each change.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 where anything differs.")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colours in text [auto: on a terminal].",
)
@input_options
def command(
    paths: Sequence[str],
    format_: str,
    summary: bool,
    exit_code: bool,
    color: str,
    fail_on: str | None,
    **flags: Any,
) -> int:
    """Show what a change of the repository does to the jobs in it, without a cluster.

    Both revisions are compiled and lowered, and compared object by object: GPUs, Pods and quota first, then
    which jobs are created, changed, removed, broken or have to run again, then each change once, however many
    Pods have it. Without --base the work tree is compared with HEAD.

    Exits with 1 where the change breaks a job (see --fail-on), and with --exit-code where anything differs.
    """
    from importlib import import_module

    before, after, found = _compared(paths, fail_on=fail_on, **flags)
    if not any((*before.tree.jobs, *before.tree.broken, *after.tree.jobs, *after.tree.broken)):
        say("no JobProfile and no training job on either side")
        return NOTHING
    render = import_module(f"podplan.report.diff_{format_}").render
    shown = found._replace(changes=()) if summary else found
    write(render(shown, style_of(color, os.environ)) if format_ == "text" else render(shown))
    breaks = any(job.what == "broken" for job in found.jobs) and after.request.fail_on is not None
    return FINDINGS if breaks or (exit_code and not found.is_empty) else CLEAN


def compared(paths: Sequence[str], **flags: Any) -> Diff:
    """What differs in ``paths``; ``flags`` are those of the command, by the names of its parameters.

    Raises RequestError, files.NoSuchPath, and BoundExceeded.
    """
    return _compared(paths, **flags)[2]


def _compared(
    paths: Sequence[str],
    base: str = "",
    head: str = "",
    base_tree: str = "",
    level: Level = "lowered",
    **flags: Any,
) -> tuple[Side, Side, Diff]:
    given = {**NO_INPUT_FLAGS, **flags}
    if base_tree:
        if base or head or len(paths) > 1:
            raise RequestError("--base-tree DIR is compared with one PATH, without --base and --head")
        names = base_tree, paths[0] if paths else "."
        before, after = (_folder(path, given) for path in names)
    else:
        before, after, names = _revisions(default_paths(paths), base or "HEAD", head, given)
    demand_environments(after.request.settings, before.tree, after.tree)
    found = compare(before.tree, after.tree, level, *names)
    return before, after, found._replace(notes=(*found.notes, *before.notes, *after.notes))


def _folder(path: str, flags: Mapping[str, Any]) -> Side:
    """One of two folders, seen from where it is, so that files of one name are the same in both."""
    if not os.path.exists(path):
        raise NoSuchPath(f"{path}: no such file or folder")
    named = {name: os.path.abspath(flags[name]) for name in FILE_FLAGS if flags.get(name)}
    folder, name = (path, os.curdir) if os.path.isdir(path) else os.path.split(path)
    with standing_in(folder or os.curdir):
        return _side([name], {**flags, **named})


def _revisions(
    paths: Sequence[str], base: str, head: str, flags: Mapping[str, Any]
) -> tuple[Side, Side, tuple[str, str]]:
    """Both sides of one repository, and what they are called."""
    from podplan import revisions

    roots = {root_of(path) for path in paths}
    if "-" in paths or len(roots) != 1:
        raise RequestError("what is compared with a revision are files and folders of one repository")
    root = roots.pop()
    commit = revisions.base_of(root, base, head or None)
    after_commit = revisions.commit_of(root, head) if head else ""
    named = alike(paths, flags, root)
    with standing_at(root, commit, () if head else revisions.outside(root)) as folder:
        own, own_flags = there(*named, root, folder)
        before = told_or_mended(base, lambda: _side(own, own_flags, some=True), folder, root, base, head)
    if head:
        with standing_at(root, after_commit) as folder:
            after = told(head, lambda: _side(*there(*named, root, folder), some=True))
    else:
        present = revisions.present(root)
        after = _side(paths, flags, lambda path: from_root(root, path) in present, some=True)
    for path, was, is_now in zip(paths, before.there, after.there, strict=True):
        if not was and not is_now:
            raise NoSuchPath(f"{path}: no such file or folder, before or after")
    shown = f"{base.rstrip('.')} ({commit[:8]})" if not commit.startswith(base) else commit[:8]
    return before, after, (shown, f"{head} ({after_commit[:8]})" if head else "work tree")


def _side(
    paths: Sequence[str],
    flags: Mapping[str, Any],
    keep: Callable[[str], bool] = lambda _: True,
    *,
    some: bool = False,
) -> Side:
    """What is in ``paths``, as far as they are there; of folders the files that are to be kept."""
    asked = request(paths, **flags)
    known = tuple(os.path.lexists(path) for path in paths)
    present = [path for path, is_there in zip(paths, known, strict=True) if is_there or not some]
    named = {os.path.abspath(path) for path in present}
    folders: list[str] = []
    files = expand(present, asked.exclude, folders)
    kept = [path for path in files if os.path.abspath(path) in named or keep(path)]
    settings = asked.settings._replace(environments=asked.settings.environments or "all")
    found = list(sources(kept))
    denied = [one.file for one in found if isinstance(one, Unread) and one.reason == DENIED]
    notes = [f"{unreadable(folders, denied)}: nothing in there is compared"] if folders or denied else []
    return Side(read(found, settings, Reader(exclude=asked.exclude)), asked, known, tuple(notes))
