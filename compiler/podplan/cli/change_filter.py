"""Reports only findings about a change, or new ones, for podplan check."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import click

from podplan.checker.check import CheckResult, filter_result
from podplan.cli.check_run import resolve_check_settings, run_check
from podplan.cli.options import RunSettings
from podplan.core.errors import UsageError
from podplan.core.findings import Finding
from podplan.core.limits import LimitExceeded
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from podplan.workspace.files import OutsideRoot, PathNotFound, file_contains_any, find_root
from podplan.yaml import SourceFile

if TYPE_CHECKING:
    from podplan.checker.base_revision import BaseCrs
    from podplan.lint.baseline import BaselineEntry
    from podplan.workspace.revisions import FileChange

Command = TypeVar("Command", bound=Callable[..., Any])


class ChangeSelection(NamedTuple):
    """The flags: whether the paths are changed files, and the revision to compare with.

    ``ref`` is "" for none; with ``filter_changed`` files that differ from it are changed, with ``filter_new``
    its findings are known.
    """

    affected: bool
    ref: str
    filter_changed: bool
    filter_new: bool


class KnownFindings(NamedTuple):
    """The findings of the base revision: reported ones, and suppressed ones."""

    shown: tuple[BaselineEntry, ...] = ()
    suppressed: tuple[BaselineEntry, ...] = ()


class BaseSnapshot(NamedTuple):
    """The base revision: its CRs, its findings if they are needed, and the changes since.

    ``inventory_changed`` is whether the inventory is among the changed files.
    """

    base_crs: BaseCrs
    known: KnownFindings
    changes: tuple[FileChange, ...]
    inventory_changed: bool


def change_options(command: Command) -> Command:
    """Add --affected-by, --changed-since, --new-since and --base."""
    revision: dict[str, Any] = {"metavar": "REF", "default": ""}
    for option in reversed(
        [
            click.option(
                "--affected-by",
                is_flag=True,
                help="Treat PATHS as changed files, and report what depends on them.",
            ),
            click.option(
                "--changed-since", **revision, help="Report what depends on files changed since REF."
            ),
            click.option("--new-since", **revision, help="Report only findings that did not exist at REF."),
            click.option(
                "--base",
                **revision,
                help="Compare with REF, for the rules about changes (GIT002 and others).",
            ),
        ]
    ):
        command = option(command)
    return command


def parse_change_flags(
    affected_by: bool, changed_since: str, new_since: str, base: str
) -> ChangeSelection | None:
    """Parse the flags; None if none is given. Raises UsageError: if they exclude each other."""
    refs = list(dict.fromkeys(ref for ref in (base, changed_since, new_since) if ref))
    if len(refs) > 1:
        raise UsageError(f"{' and '.join(refs)} are two revisions; compare with one of them")
    if affected_by and changed_since:
        raise UsageError("--affected-by and --changed-since both say what changed; give one of them")
    if not affected_by and not refs:
        return None
    return ChangeSelection(affected_by, "".join(refs), bool(changed_since), bool(new_since))


def check_change(
    paths: Sequence[str], selection: ChangeSelection, flags: dict[str, Any]
) -> tuple[CheckResult, RunSettings]:
    """Return the result with only the findings to report, and the settings; see ``check_all_of_change``."""
    _, reported, run_settings = check_all_of_change(paths, selection, flags)
    return reported, run_settings


def check_all_of_change(
    paths: Sequence[str], selection: ChangeSelection, flags: dict[str, Any]
) -> tuple[CheckResult, CheckResult, RunSettings]:
    """Return the result, the same with only the findings to report, and the settings.

    All paths are checked, and only the report is filtered. With --affected-by the whole repository is
    checked; policies are evaluated only for what the changed files affect, if these are jobs and profiles.

    Raises UsageError: if the revision cannot be read. Raises PathNotFound: if a path does not exist.
    """
    if "-" in paths:
        raise UsageError("standard input is no file that changed; name files and folders")
    if selection.affected and not paths:
        raise UsageError("--affected-by wants the files that changed")
    roots = {find_root(path) for path in paths or (".",)}
    if len(roots) != 1:
        raise UsageError("files that changed, and a revision, are of one repository; check others apart")
    root = roots.pop()
    changed = [_resolve_path(path) for path in paths] if selection.affected else []
    paths = (os.path.relpath(root),) if selection.affected else paths or (".",)
    snapshot = _load_base(paths, root, selection, flags) if selection.ref else None
    run_settings = resolve_check_settings(paths, **flags)
    has_limited_effect = (
        selection.affected
        and snapshot is None
        and not run_settings.settings_by_key["baseline"].value
        and not _is_shared_setting(changed, run_settings, paths, flags)
        and all(map(_has_only_jobs, changed))
    )
    result = complete = run_check(
        paths,
        run_settings,
        base_crs=snapshot.base_crs if snapshot else None,
        changed_files=frozenset(changed) if has_limited_effect else None,
    )
    if selection.affected or selection.filter_changed:
        if selection.filter_changed and snapshot is not None:
            changed = list(_iter_changed_paths(root, snapshot.changes))
        if not (snapshot and snapshot.inventory_changed) and not _affects_everything(
            changed, result, run_settings, paths, flags
        ):
            result = _filter_affected(result, changed, has_base=snapshot is not None)
    if selection.filter_new and snapshot is not None:
        result = _filter_new(result, snapshot.known)
    return complete, result, run_settings


def _filter_affected(result: CheckResult, changed: Collection[str], has_base: bool) -> CheckResult:
    """Keep the findings about changed files, and about files that depend on them.

    Without a base revision, a missing file that nothing refers to may have been the inventory: then all
    findings are kept.
    """
    from podplan.checker.affected_findings import build_file_filter, find_affected_files

    referenced_paths = {_resolve_path(other) for others in result.dependencies.values() for other in others}
    if not has_base and any(not os.path.lexists(path) and path not in referenced_paths for path in changed):
        return result
    return filter_result(result, build_file_filter(find_affected_files(changed, result.dependencies)))


def _has_only_jobs(path: str) -> bool:
    """Whether a file can be read and has only profiles, base profiles and CRs, which affect known files."""
    from podplan.workspace.documents import classify_documents
    from podplan.workspace.file_loader import load_file

    try:
        source = load_file(path)
    except (UsageError, LimitExceeded):
        return False
    if not isinstance(source, SourceFile) or source.diagnostics:
        return False
    categories = {item.category for item in classify_documents(source)}
    return bool(categories) and categories <= {"profile", "base", "cr"}


def _affects_everything(
    changed: Collection[str],
    result: CheckResult,
    run_settings: RunSettings,
    paths: Sequence[str],
    flags: dict[str, Any],
) -> bool:
    """Whether a changed file affects all findings: the configuration, or an inventory."""
    inventories = {os.path.realpath(path) for path in result.inventories}
    return not inventories.isdisjoint(changed) or _is_shared_setting(changed, run_settings, paths, flags)


def _is_shared_setting(
    changed: Collection[str], run_settings: RunSettings, paths: Sequence[str], flags: dict[str, Any]
) -> bool:
    """Whether a changed file is the configuration, or one that it names: inventory, baseline, policies."""
    from podplan.config.files import find_nearest_config, read_config, read_extended
    from podplan.workspace.files import CONFIG_NAMES, PYPROJECT

    config_file = None if flags.get("isolated") and not flags.get("config") else find_nearest_config(paths[0])
    config_file = read_config(flags["config"]) if flags.get("config") else config_file
    files = {
        os.path.realpath(file.path)
        for file in (read_extended(config_file) if config_file is not None else ())
    }
    values = (run_settings.settings_by_key[key].value for key in ("inventory", "baseline"))
    files |= {os.path.realpath(path) for path in values if path}
    folders = [os.path.realpath(path) for path in run_settings.settings_by_key["policies"].value]
    return any(
        path in files
        or any(path == folder or path.startswith(folder + os.sep) for folder in folders)
        or (os.path.basename(path) in (*CONFIG_NAMES, PYPROJECT) and not os.path.lexists(path))
        for path in changed
    )


def _load_base(
    paths: Sequence[str], root: str, selection: ChangeSelection, flags: dict[str, Any]
) -> BaseSnapshot:
    """Check the base revision, in the corresponding folder and with its own configuration."""
    from podplan.checker.base_revision import collect_base_crs
    from podplan.cli.config_fallback import load_with_config_fallback
    from podplan.cli.revision_checkout import enter_revision, make_portable, translate_to_checkout
    from podplan.workspace import revisions
    from podplan.workspace.file_loader import load_files
    from podplan.workspace.files import expand_paths
    from podplan.workspace.loader import Loader

    for path in paths:
        if not os.path.lexists(path):
            raise PathNotFound(f"{path}: no such file or folder")
    commit = revisions.resolve_base(root, selection.ref)
    changes = tuple(revisions.find_changes(root, selection.ref))

    portable_paths, portable_flags = make_portable(paths, flags, root)

    def reading(folder: str, own: Sequence[str], own_flags: Mapping[str, Any]) -> BaseSnapshot:
        wanted = resolve_check_settings(own, **own_flags)
        own = [path for path in own if os.path.lexists(path)]
        # A job may come from another file, which has changed or no longer exists.
        was = {os.path.join(folder, change.old_path) for change in changes if change.old_path is not None}
        all_files = expand_paths([os.path.relpath(folder)], wanted.exclude) if was else ()
        moved = [path for path in all_files if os.path.abspath(path) in was]
        found = load_files(expand_paths([*own, *moved], wanted.exclude))
        crs = collect_base_crs(found, wanted.settings, Loader(exclude=wanted.exclude))
        known = _collect_known(run_check(own, wanted), changes) if selection.filter_new else KnownFindings()
        return BaseSnapshot(crs, known, changes, any(_was_inventory(folder, change) for change in changes))

    with enter_revision(root, commit, revisions.find_sparse_files(root)) as folder:
        own, base_flags = translate_to_checkout(portable_paths, portable_flags, root, folder)
        return load_with_config_fallback(
            selection.ref, lambda: reading(folder, own, base_flags), folder, root, selection.ref
        )


def _was_inventory(folder: str, change: FileChange) -> bool:
    if change.old_path is None or not change.old_path.endswith((".yaml", ".yml")):
        return False
    try:
        return file_contains_any(folder, os.path.join(folder, change.old_path), [b"ClusterInventory"])
    except (OSError, OutsideRoot):
        return False


def _collect_known(result: CheckResult, changes: Collection[FileChange]) -> KnownFindings:
    """Return the findings of the revision, as in a baseline, with the current names of files."""
    from podplan.lint.baseline import collect_entries

    new_names = {change.old_path: change.path for change in changes if change.change_type == "renamed"}

    def entries(found: Iterable[Finding]) -> tuple[BaselineEntry, ...]:
        there = collect_entries(found, result.redacted_texts)
        return tuple(one._replace(file=new_names.get(one.file, one.file)) for one in there)

    suppressed = (found for found in result.all_findings if found.suppressed)
    return KnownFindings(entries(result.findings), entries(suppressed))


def _filter_new(result: CheckResult, known_findings: KnownFindings) -> CheckResult:
    """Keep the findings that are new, independent of their line; one that is no longer suppressed is new."""
    from podplan.checker.affected_findings import ALWAYS_REPORTED_RULES
    from podplan.lint.baseline import suppress_known_findings

    suppressed = [found for found in result.all_findings if found.suppressed]
    known_ids: set[int] = set()
    for found, known_entries in (
        (result.findings, known_findings.shown),
        (suppressed, known_findings.suppressed),
    ):
        unsuppressed = [one._replace(suppressed=False) for one in found]
        marked = suppress_known_findings(
            unsuppressed,
            known_entries,
            result.redacted_texts,
            lambda one: one.rule not in ALWAYS_REPORTED_RULES,
            ignores_numbers=True,
        )
        known_ids.update(id(one) for one, mark in zip(found, marked, strict=True) if mark.suppressed)
    return filter_result(result, lambda found: id(found) not in known_ids)


def _iter_changed_paths(root: str, changes: Collection[FileChange]) -> Iterator[str]:
    """Yield the changed files, under their current and old names; for links also their own names."""
    for change in changes:
        for path in {change.path, change.old_path or change.path}:
            full_path = os.path.join(root, path)
            yield full_path
            yield _resolve_path(full_path)


def _resolve_path(path: str) -> str:
    return os.path.realpath(path)
