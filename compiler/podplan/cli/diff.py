"""podplan diff"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import click

from podplan.cli.config_fallback import load_with_config_fallback
from podplan.cli.exit_codes import CLEAN, FINDINGS, NO_INPUT
from podplan.cli.help import HelpCommand
from podplan.cli.options import (
    RunSettings,
    input_options,
    kustomize_option,
    require_no_paths,
    resolve_run_settings,
)
from podplan.cli.output import print_message, write_stdout
from podplan.cli.reporting import color_options, select_style
from podplan.cli.revision_checkout import (
    FILE_FLAGS,
    change_folder,
    make_portable,
    relative_to_root,
    standing_place,
    translate_to_checkout,
)
from podplan.cli.shell_completion import complete_files
from podplan.core.errors import UsageError
from podplan.report.summary import unreadable
from podplan.tools.diff import Diff, Tree, compare
from podplan.tools.diff.model import LEVELS, Level
from podplan.tools.diff.repository_state import Files, Place, demand_environments, path_from_top
from podplan.workspace import Loader
from podplan.workspace.files import PathNotFound, expand_paths, find_root
from podplan.workspace.kustomize_build import has_kustomization


class Side(NamedTuple):
    """One side of the comparison: its files, settings, and which paths exist.

    ``unreadable`` are the folders that could not be listed.
    """

    files: Files
    request: RunSettings
    there: tuple[bool, ...]
    unreadable: tuple[str, ...]


class Comparison(NamedTuple):
    """The result of a comparison, and its settings; whether there were no files, and the environments of
    the profiles."""

    diff: Diff
    request: RunSettings
    is_empty: bool
    environments: frozenset[str]


class _Here(Exception):
    """A usage error on the side that is not the base revision, so that the message must not mention that."""


@click.command("diff", cls=HelpCommand)
@click.argument("paths", nargs=-1, shell_complete=complete_files)
@click.option(
    "--base",
    metavar="REF",
    default="",
    help="Compare with the merge base of HEAD and REF; REF.. compares with REF itself.",
)
@click.option("--head", metavar="REF", default="", help="Revision to compare instead of the work tree.")
@click.option(
    "--base-tree", metavar="DIR", default="", help="Compare PATH with this folder instead of a revision."
)
@click.option(
    "--level", type=click.Choice(LEVELS), default="lowered", help="Level of the comparison [lowered]."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    help="Format of the output [text].",
)
@click.option("--summary", is_flag=True, help="Print the impact and the jobs without the single changes.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if there are differences.")
@color_options("Colour of text output [auto].")
@input_options
@kustomize_option
def command(
    paths: Sequence[str],
    format_: str,
    summary: bool,
    exit_code: bool,
    color: str,
    fail_on: str | None,
    **flags: Any,
) -> int:
    """Show the effect of a change in the repository on its jobs, without a cluster.

    Both revisions are compiled and lowered, and the objects compared. The output begins with the change of
    GPUs, Pods and quota, continues with the jobs that are created, changed, removed, broken or must be
    re-created, and lists each change once for all Pods that share it. Without --base the work tree is
    compared with HEAD.

    Exits with 1 if the change breaks a job (see --fail-on); with --exit-code also if anything differs.
    """
    from importlib import import_module

    comparison = _compared(paths, fail_on=fail_on, **flags)
    if comparison.is_empty:
        print_message("no JobProfile and no training job on either side")
        return NO_INPUT
    render = import_module(f"podplan.report.diff_{format_}").render
    found = comparison.diff
    shown = found._replace(changes=()) if summary else found
    write_stdout(render(shown, select_style(color, os.environ)) if format_ == "text" else render(shown))
    breaks = any(job.what == "broken" for job in found.jobs) and comparison.request.fail_on is not None
    return FINDINGS if breaks or (exit_code and not found.is_empty) else CLEAN


def compared(paths: Sequence[str], **flags: Any) -> Diff:
    """Compare ``paths``; ``flags`` are those of the command, by the names of its parameters.

    Raises UsageError: for wrong flags. Raises PathNotFound: if a path exists on no side. Raises
    LimitExceeded: if a limit is exceeded.
    """
    return _compared(paths, **flags).diff


def _compared(
    paths: Sequence[str],
    base: str = "",
    head: str = "",
    base_tree: str = "",
    level: Level = "lowered",
    **flags: Any,
) -> Comparison:
    paths = require_no_paths(paths, flags.get("kustomize", ""))
    if not base_tree:
        found = _revisions(paths, base or "HEAD", head, level, flags)
    elif base or head or len(paths) > 1:
        raise UsageError("--base-tree DIR is compared with one PATH, without --base and --head")
    else:
        names = base_tree, paths[0]
        before, after = (_folder(path, flags) for path in names)
        found = _compare(before, after, level, names)
    demand_environments(found.request.settings, found.environments)
    return found


def _folder(path: str, flags: Mapping[str, Any]) -> Side:
    """Return one of two folders, with names relative to it, so that equal files have equal names in both."""
    if not os.path.exists(path):
        raise PathNotFound(f"{path}: no such file or folder")
    named = {name: os.path.abspath(flags[name]) for name in FILE_FLAGS if flags.get(name)}
    folder, name = (path, os.curdir) if os.path.isdir(path) else os.path.split(path)
    folder = os.path.realpath(folder or os.curdir)
    return _side([name], {**flags, **named}, folder, partial(change_folder, folder))


def _revisions(
    paths: Sequence[str], base: str, head: str, level: Level, flags: Mapping[str, Any]
) -> Comparison:
    """Return both sides of one repository."""
    from podplan.workspace import revisions

    roots = {find_root(path) for path in paths}
    if "-" in paths or len(roots) != 1:
        raise UsageError("what is compared with a revision are files and folders of one repository")
    root = roots.pop()
    commit = revisions.resolve_base(root, base, head or None)
    after_commit = revisions.resolve_commit(root, head) if head else ""
    as_there = make_portable(paths, flags, root)
    shown = f"{base.rstrip('.')} ({commit[:8]})" if not commit.startswith(base) else commit[:8]
    names = shown, f"{head} ({after_commit[:8]})" if head else "work tree"
    with ExitStack() as stack:
        without = () if head else revisions.find_sparse_files(root)
        all_files = bool(flags.get("kustomize"))
        folder, place = _checked_out(stack, root, commit, without, all_files)
        after_folder, after_place = (
            _checked_out(stack, root, after_commit, (), all_files) if head else (root, nullcontext)
        )

        def attempt() -> Comparison:
            before = _side_of_revision(as_there, root, folder, place)
            here = partial(_here, after_place, f"at {head}: " if head else "")
            if head:
                after = _side_of_revision(as_there, root, after_folder, here)
            else:
                present = revisions.find_present_files(root)
                after = _side(paths, flags, root, here, lambda path: relative_to_root(root, path) in present)
            for path, was, is_now in zip(paths, before.there, after.there, strict=True):
                if not was and not is_now:
                    if flags.get("kustomize"):
                        raise PathNotFound(f"{path}: no kustomization in this folder, before or after")
                    hint = f"; to compare with {path}, write --base {path}" if _is_commit(root, path) else ""
                    raise PathNotFound(f"{path}: no such file or folder, before or after{hint}")
            return _compare(before, after, level, names)

        try:
            return load_with_config_fallback(base, attempt, folder, root, base, head)
        except _Here as error:
            raise UsageError(str(error)) from None


def _is_commit(root: str, name: str) -> bool:
    """Whether a name that is no path is a revision."""
    from podplan.workspace import revisions

    try:
        return bool(revisions.resolve_commit(root, name))
    except UsageError:
        return False


def _checked_out(
    stack: ExitStack, root: str, commit: str, without: Collection[str], all_files: bool
) -> tuple[str, Place]:
    """Return the folder with the files of a commit, and a context that changes to it, so that typed paths
    are valid."""
    from podplan.workspace import revisions

    folder = stack.enter_context(revisions.extract_tree(root, commit, without, all_files))
    return folder, partial(change_folder, standing_place(root, folder))


@contextmanager
def _here(place: Place, prefix: str) -> Iterator[None]:
    """Wrap usage errors of the side that is not the base."""
    try:
        with place():
            yield
    except UsageError as error:
        raise _Here(f"{prefix}{error}") from None


def _side_of_revision(
    asked: tuple[Sequence[str], Mapping[str, Any]], root: str, folder: str, place: Place
) -> Side:
    with place():
        paths, flags = translate_to_checkout(*asked, root, folder)
    return _side(paths, flags, folder, place)


def _side(
    paths: Sequence[str],
    flags: Mapping[str, Any],
    top: str,
    place: Place,
    keep: Callable[[str], bool] = lambda _: True,
) -> Side:
    """Return the files in ``paths``, as far as they exist; in folders only those to ``keep``."""
    top = os.path.realpath(top)
    with place():
        asked = resolve_run_settings(paths, **flags)
        asked = asked._replace(
            settings=asked.settings._replace(environments=asked.settings.environments or "all")
        )
        if flags.get("kustomize"):
            return _side_of_build(paths[0], asked, top, place)
        known = tuple(map(os.path.lexists, paths))
        present = [path for path, is_there in zip(paths, known, strict=True) if is_there]
        named = {os.path.abspath(path) for path in present}
        folders: list[str] = []
        files = expand_paths(present, asked.exclude, folders)
        kept = [path for path in files if os.path.abspath(path) in named or keep(path)]
        by_path = {path_from_top(top, name): name for name in kept}
    return Side(Files(by_path, top, place), asked, known, tuple(folders))


def _side_of_build(folder: str, asked: RunSettings, top: str, place: Place) -> Side:
    """Return what kustomize builds from a folder, which may have no kustomization on one side."""
    by_path = {path_from_top(top, folder): folder} if has_kustomization(folder) else {}
    return Side(Files(by_path, top, place, are_built=True), asked, (bool(by_path),), ())


def _compare(before: Side, after: Side, level: Level, names: tuple[str, str]) -> Comparison:
    """Compare two sides, which are called ``names``."""
    was, now = (
        Tree(side.files, side.request.settings, Loader(exclude=side.request.exclude))
        for side in (before, after)
    )
    found = compare(was, now, level)
    skipped = (
        f"{unreadable(side.unreadable, tree.denied)}: nothing in there is compared"
        for side, tree in ((before, was), (after, now))
        if side.unreadable or tree.denied
    )
    found = found._replace(base=names[0], head=names[1], notes=(*found.notes, *skipped))
    return Comparison(
        found,
        after.request,
        not any((was.jobs, was.broken, now.jobs, now.broken)),
        frozenset(was.environments | now.environments),
    )
