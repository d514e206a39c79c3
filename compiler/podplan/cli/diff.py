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
from podplan.cli.reports import color_options, select_style
from podplan.cli.revision_checkout import (
    FILE_FLAGS,
    change_folder,
    find_place_in_checkout,
    make_portable,
    relative_to_root,
    translate_to_checkout,
)
from podplan.cli.shell_completion import complete_files
from podplan.core.errors import UsageError
from podplan.report.summary import unreadable
from podplan.tools.diff import Diff, RepositoryState, compare
from podplan.tools.diff.model import LEVELS, Level
from podplan.tools.diff.repository_state import (
    EnterFolder,
    RevisionFiles,
    path_from_top,
    require_environments,
)
from podplan.workspace.files import PathNotFound, expand_paths, find_root
from podplan.workspace.kustomize_build import has_kustomization
from podplan.workspace.loader import Loader


class Side(NamedTuple):
    """One side of the comparison: its files, settings, and which paths exist.

    ``unreadable`` are the folders that could not be listed, ``named_files`` the real paths that the user
    names.
    """

    files: RevisionFiles
    request: RunSettings
    are_present: tuple[bool, ...]
    unreadable: tuple[str, ...]
    named_files: tuple[str, ...] = ()


class Comparison(NamedTuple):
    """The result of a comparison, and its settings; whether there were no files, and the environments of
    the profiles."""

    diff: Diff
    request: RunSettings
    is_empty: bool
    environments: frozenset[str]


class _HeadError(Exception):
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

    comparison = _run_comparison(paths, fail_on=fail_on, **flags)
    if comparison.is_empty:
        print_message("no JobProfile and no training job on either side")
        return NO_INPUT
    render = import_module(f"podplan.report.diff_{format_}").render
    diff = comparison.diff
    shown = diff._replace(changes=()) if summary else diff
    write_stdout(render(shown, select_style(color, os.environ)) if format_ == "text" else render(shown))
    breaks = any(job.what == "broken" for job in diff.jobs) and comparison.request.fail_on is not None
    return FINDINGS if breaks or (exit_code and not diff.is_empty) else CLEAN


def compare_paths(paths: Sequence[str], **flags: Any) -> Diff:
    """Compare ``paths``; ``flags`` are those of the command, by the names of its parameters.

    Raises UsageError: for wrong flags. Raises PathNotFound: if a path exists on no side. Raises
    LimitExceeded: if a limit is exceeded.
    """
    return _run_comparison(paths, **flags).diff


def _run_comparison(
    paths: Sequence[str],
    base: str = "",
    head: str = "",
    base_tree: str = "",
    level: Level = "lowered",
    **flags: Any,
) -> Comparison:
    folder = flags.get("kustomize", "")
    if folder and len(paths) == 1 and (hint := _suggest_base(find_root(folder), paths[0])):
        raise UsageError(f"-k DIR replaces the paths{hint}")
    paths = require_no_paths(paths, folder)
    if not base_tree:
        comparison = _compare_revisions(paths, base or "HEAD", head, level, flags)
    elif base or head or len(paths) > 1:
        raise UsageError("--base-tree DIR is compared with one PATH, without --base and --head")
    else:
        names = base_tree, paths[0]
        before, after = (_build_folder_side(path, flags) for path in names)
        comparison = _compare_sides(before, after, level, names)
    require_environments(comparison.request.settings, comparison.environments)
    return comparison


def _build_folder_side(path: str, flags: Mapping[str, Any]) -> Side:
    """Return one of two folders, with names relative to it, so that equal files have equal names in both."""
    if not os.path.exists(path):
        raise PathNotFound(f"{path}: no such file or folder")
    named = {name: os.path.abspath(flags[name]) for name in FILE_FLAGS if flags.get(name)}
    folder, name = (path, os.curdir) if os.path.isdir(path) else os.path.split(path)
    folder = os.path.realpath(folder or os.curdir)
    return _build_side([name], {**flags, **named}, folder, partial(change_folder, folder))


def _compare_revisions(
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
    portable = make_portable(paths, flags, root)
    shown = f"{base.rstrip('.')} ({commit[:8]})" if not commit.startswith(base) else commit[:8]
    names = shown, f"{head} ({after_commit[:8]})" if head else "work tree"
    with ExitStack() as stack:
        without = () if head else revisions.find_sparse_files(root)
        all_files = bool(flags.get("kustomize"))
        folder, enter = _extract_revision(stack, root, commit, without, all_files)
        after_folder, enter_after = (
            _extract_revision(stack, root, after_commit, (), all_files) if head else (root, nullcontext)
        )

        def attempt() -> Comparison:
            before = _build_revision_side(portable, root, folder, enter)
            enter_head = partial(_mark_errors, enter_after, f"at {head}: " if head else "")
            if head:
                after = _build_revision_side(portable, root, after_folder, enter_head)
            else:
                present = revisions.find_present_files(root)
                after = _build_side(
                    paths, flags, root, enter_head, lambda path: relative_to_root(root, path) in present
                )
            for path, *are_present in zip(paths, before.are_present, after.are_present, strict=True):
                if not any(are_present):
                    if flags.get("kustomize"):
                        raise PathNotFound(f"{path}: no kustomization in this folder, before or after")
                    hint = _suggest_base(root, path)
                    raise PathNotFound(f"{path}: no such file or folder, before or after{hint}")
            return _compare_sides(before, after, level, names)

        try:
            return load_with_config_fallback(base, attempt, folder, root, base, head)
        except _HeadError as error:
            raise UsageError(str(error)) from None


def _suggest_base(root: str, name: str) -> str:
    """Return how to compare with a revision that was given as a path; "" for what is none."""
    from podplan.workspace import revisions

    try:
        revisions.resolve_commit(root, name)
    except UsageError:
        return ""
    return f"; to compare with {name}, write --base {name}"


def _extract_revision(
    stack: ExitStack, root: str, commit: str, without: Collection[str], all_files: bool
) -> tuple[str, EnterFolder]:
    """Return the folder with the files of a commit, and a context that changes to it, so that typed paths
    are valid."""
    from podplan.workspace import revisions

    folder = stack.enter_context(revisions.extract_tree(root, commit, without, all_files))
    return folder, partial(change_folder, find_place_in_checkout(root, folder))


@contextmanager
def _mark_errors(enter: EnterFolder, prefix: str) -> Iterator[None]:
    """Wrap usage errors of the side that is not the base."""
    try:
        with enter():
            yield
    except UsageError as error:
        raise _HeadError(f"{prefix}{error}") from None


def _build_revision_side(
    request: tuple[Sequence[str], Mapping[str, Any]], root: str, folder: str, enter: EnterFolder
) -> Side:
    with enter():
        paths, flags = translate_to_checkout(*request, root, folder)
    return _build_side(paths, flags, folder, enter)


def _build_side(
    paths: Sequence[str],
    flags: Mapping[str, Any],
    top: str,
    enter: EnterFolder,
    keep: Callable[[str], bool] = lambda _: True,
) -> Side:
    """Return the files in ``paths``, as far as they exist; in folders only those to ``keep``."""
    top = os.path.realpath(top)
    with enter():
        request = resolve_run_settings(paths, **flags)
        request = request._replace(
            settings=request.settings._replace(environments=request.settings.environments or "all")
        )
        if flags.get("kustomize"):
            return _build_kustomize_side(paths[0], request, top, enter)
        are_present = tuple(map(os.path.lexists, paths))
        present = [path for path, is_present in zip(paths, are_present, strict=True) if is_present]
        named = {os.path.abspath(path) for path in present}
        folders: list[str] = []
        files = expand_paths(present, request.exclude, folders)
        kept = [path for path in files if os.path.abspath(path) in named or keep(path)]
        by_path = {path_from_top(top, name): name for name in kept}
        named_files = tuple(map(os.path.realpath, present))
    return Side(RevisionFiles(by_path, top, enter), request, are_present, tuple(folders), named_files)


def _build_kustomize_side(folder: str, request: RunSettings, top: str, enter: EnterFolder) -> Side:
    """Return what kustomize builds from a folder, which may have no kustomization on one side."""
    by_path = {path_from_top(top, folder): folder} if has_kustomization(folder) else {}
    return Side(RevisionFiles(by_path, top, enter, are_built=True), request, (bool(by_path),), ())


def _compare_sides(before: Side, after: Side, level: Level, names: tuple[str, str]) -> Comparison:
    """Compare two sides, which are called ``names``."""
    state_before, state_after = (
        RepositoryState(
            side.files,
            side.request.settings,
            Loader(exclude=side.request.exclude, named_files=side.named_files),
        )
        for side in (before, after)
    )
    diff = compare(state_before, state_after, level)
    skipped = (
        f"{unreadable(side.unreadable, state.denied)}: nothing in there is compared"
        for side, state in ((before, state_before), (after, state_after))
        if side.unreadable or state.denied
    )
    diff = diff._replace(base=names[0], head=names[1], notes=(*diff.notes, *skipped))
    return Comparison(
        diff,
        after.request,
        not any((state_before.jobs, state_before.broken, state_after.jobs, state_after.broken)),
        frozenset(state_before.environments | state_after.environments),
    )
