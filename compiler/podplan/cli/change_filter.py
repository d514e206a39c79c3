"""podplan check of a change: what only findings about it, or that it brings, are reported of."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import click

from podplan.checker.check import Result, narrowed
from podplan.cli.check_run import checking, run
from podplan.cli.options import Request
from podplan.core.errors import RequestError
from podplan.core.findings import Finding
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from podplan.workspace.files import NoSuchPath, OutsideRoot, mentions, root_of

if TYPE_CHECKING:
    from podplan.checker.base_revision import Before
    from podplan.lint.baseline import Entry
    from podplan.workspace.revisions import Change

Command = TypeVar("Command", bound=Callable[..., Any])


class Asked(NamedTuple):
    """The flags: whether the paths are files that changed, and the revision to compare with.

    ``ref`` is "" for none; with ``changed`` the files that differ from it count, with ``new`` its findings.
    """

    affected: bool
    ref: str
    changed: bool
    new: bool


class Known(NamedTuple):
    """Findings that were there: those that were shown, and those that somebody silenced."""

    shown: tuple[Entry, ...] = ()
    silenced: tuple[Entry, ...] = ()


class Earlier(NamedTuple):
    """The revision that is compared with: its CRs, its findings where they count, and what it changed into.

    ``governed`` tells that a file which changed was the inventory.
    """

    crs: Before
    known: Known
    changes: tuple[Change, ...]
    governed: bool


def change_options(command: Command) -> Command:
    """--affected-by, --changed-since, --new-since and --base."""
    revision: dict[str, Any] = {"metavar": "REF", "default": ""}
    for option in reversed(
        [
            click.option(
                "--affected-by",
                is_flag=True,
                help="PATHS are files that changed: report what depends on them.",
            ),
            click.option("--changed-since", **revision, help="Report what the files since REF affect."),
            click.option("--new-since", **revision, help="Report only what was not so at REF."),
            click.option("--base", **revision, help="Compare with REF, for rules about changes."),
        ]
    ):
        command = option(command)
    return command


def asked(affected_by: bool, changed_since: str, new_since: str, base: str) -> Asked | None:
    """What the flags ask for; None where they ask for nothing. Raises RequestError."""
    refs = list(dict.fromkeys(ref for ref in (base, changed_since, new_since) if ref))
    if len(refs) > 1:
        raise RequestError(f"{' and '.join(refs)} are two revisions; compare with one of them")
    if affected_by and changed_since:
        raise RequestError("--affected-by and --changed-since both say what changed; give one of them")
    if not affected_by and not refs:
        return None
    return Asked(affected_by, "".join(refs), bool(changed_since), bool(new_since))


def check_change(paths: Sequence[str], asked_for: Asked, flags: dict[str, Any]) -> tuple[Result, Request]:
    """The result with what is to be reported of it, and the request that it is of.

    All of the paths is checked, and only the report is narrowed. With --affected-by that is the whole
    repository. Raises RequestError and files.NoSuchPath.
    """
    if "-" in paths:
        raise RequestError("standard input is no file that changed; name files and folders")
    if asked_for.affected and not paths:
        raise RequestError("--affected-by wants the files that changed")
    roots = {root_of(path) for path in paths or (".",)}
    if len(roots) != 1:
        raise RequestError("files that changed, and a revision, are of one repository; check others apart")
    root = roots.pop()
    changed = [_real(path) for path in paths] if asked_for.affected else []
    paths = (os.path.relpath(root),) if asked_for.affected else paths or (".",)
    earlier = _earlier(paths, root, asked_for, flags) if asked_for.ref else None
    wanted = checking(paths, **flags)
    result = run(paths, wanted, before=earlier.crs if earlier else None)
    if asked_for.affected or asked_for.changed:
        if asked_for.changed and earlier is not None:
            changed = list(_paths(root, earlier.changes))
        if not (earlier and earlier.governed) and not _governs_all(changed, result, wanted, paths, flags):
            result = _affected(result, changed, sure=earlier is not None)
    if asked_for.new and earlier is not None:
        result = _new(result, earlier.known)
    return result, wanted


def _affected(result: Result, changed: Collection[str], sure: bool) -> Result:
    """The findings about files that changed, and about what depends on them.

    Without the revision before nobody knows what a file was that is not there and that nothing names: it may
    have been the inventory, so then nothing is left out.
    """
    from podplan.checker.affected_findings import about, affected

    named = {_real(other) for others in result.named.values() for other in others}
    if not sure and any(not os.path.lexists(path) and path not in named for path in changed):
        return result
    return narrowed(result, about(affected(changed, result.named)))


def _governs_all(
    changed: Collection[str],
    result: Result,
    wanted: Request,
    paths: Sequence[str],
    flags: dict[str, Any],
) -> bool:
    """Whether a file that changed is for everything: configuration, inventory, baseline, own policies."""
    from podplan.config.files import NAMES, PYPROJECT, extended, named, nearest

    own = None if flags["isolated"] and not flags["config"] else nearest(paths[0])
    own = named(flags["config"]) if flags["config"] else own
    files = {os.path.realpath(file.path) for file in (extended(own) if own is not None else ())}
    files |= {os.path.realpath(path) for path in result.inventories}
    values = (wanted.origins[key].value for key in ("inventory", "baseline"))
    files |= {os.path.realpath(path) for path in values if path}
    folders = [os.path.realpath(path) for path in wanted.origins["policies"].value]
    return any(
        path in files
        or any(path == folder or path.startswith(folder + os.sep) for folder in folders)
        or (os.path.basename(path) in (*NAMES, PYPROJECT) and not os.path.lexists(path))
        for path in changed
    )


def _earlier(paths: Sequence[str], root: str, asked_for: Asked, flags: dict[str, Any]) -> Earlier:
    """What the revision has to say; standing there, with its own configuration."""
    from podplan.checker.base_revision import before
    from podplan.cli.config_fallback import told_or_mended
    from podplan.cli.revision_checkout import alike, standing_at, there
    from podplan.workspace import Reader, revisions
    from podplan.workspace.file_loader import sources
    from podplan.workspace.files import expand

    for path in paths:
        if not os.path.lexists(path):
            raise NoSuchPath(f"{path}: no such file or folder")
    commit = revisions.base_of(root, asked_for.ref)
    changes = tuple(revisions.changed(root, asked_for.ref))

    alike_paths, alike_flags = alike(paths, flags, root)

    def reading(folder: str, own: Sequence[str], own_flags: Mapping[str, Any]) -> Earlier:
        wanted = checking(own, **own_flags)
        own = [path for path in own if os.path.lexists(path)]
        # A job may have been in another file, which then is another now, or gone.
        was = {os.path.join(folder, change.before) for change in changes if change.before is not None}
        all_files = expand([os.path.relpath(folder)], wanted.exclude) if was else ()
        moved = [path for path in all_files if os.path.abspath(path) in was]
        found = sources(expand([*own, *moved], wanted.exclude))
        crs = before(found, wanted.settings, Reader(exclude=wanted.exclude))
        known = _known(run(own, wanted), changes) if asked_for.new else Known()
        return Earlier(crs, known, changes, any(_was_inventory(folder, change) for change in changes))

    with standing_at(root, commit, revisions.outside(root)) as folder:
        own, own_flags = there(alike_paths, alike_flags, root, folder)
        return told_or_mended(
            asked_for.ref, lambda: reading(folder, own, own_flags), folder, root, asked_for.ref
        )


def _was_inventory(folder: str, change: Change) -> bool:
    if change.before is None or not change.before.endswith((".yaml", ".yml")):
        return False
    try:
        return mentions(folder, os.path.join(folder, change.before), [b"ClusterInventory"])
    except (OSError, OutsideRoot):
        return False


def _known(result: Result, changes: Collection[Change]) -> Known:
    """The findings of the revision, as a baseline has them; in files by the names that they have now."""
    from podplan.lint.baseline import collected

    now = {change.before: change.path for change in changes if change.how == "renamed"}

    def entries(found: Iterable[Finding]) -> tuple[Entry, ...]:
        there = collected(found, result.texts)
        return tuple(one._replace(file=now.get(one.file, one.file)) for one in there)

    silenced = (found for found in result.with_suppressed if found.suppressed)
    return Known(entries(result.findings), entries(silenced))


def _new(result: Result, known: Known) -> Result:
    """The findings that were not there before, in whatever line; what is silenced no more is new."""
    from podplan.checker.affected_findings import ALWAYS
    from podplan.lint.baseline import without_known

    silenced = [found for found in result.with_suppressed if found.suppressed]
    old: set[int] = set()
    for found, there in ((result.findings, known.shown), (silenced, known.silenced)):
        bare = [one._replace(suppressed=False) for one in found]
        marked = without_known(bare, there, result.texts, lambda one: one.rule not in ALWAYS)
        old.update(id(one) for one, mark in zip(found, marked, strict=True) if mark.suppressed)
    return narrowed(result, lambda found: id(found) not in old)


def _paths(root: str, changes: Collection[Change]) -> Iterator[str]:
    """The files that changed, under the names that they have and had; links by their own names, too."""
    for change in changes:
        for path in {change.path, change.before or change.path}:
            whole = os.path.join(root, path)
            yield whole
            yield _real(whole)


def _real(path: str) -> str:
    return os.path.realpath(path)
