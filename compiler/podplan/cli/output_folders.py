"""The output folders of podplan render, which are written or compared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from podplan.cli.exit_codes import CLEAN, FINDINGS, NO_INPUT
from podplan.cli.options import RunSettings, load_configuration
from podplan.cli.output import (
    describe_os_error,
    find_non_folder,
    print_message,
    replace_file,
    write_escaped_stderr,
    write_escaped_stdout,
)
from podplan.cli.plan_loader import LoadedPlans, load_job_plans
from podplan.config import RenderSettings
from podplan.core.errors import EnvironmentNotChosen, UsageError
from podplan.pipeline import JobPlan, PipelineSettings
from podplan.rendering import Names
from podplan.rendering.output_folder import (
    KUSTOMIZATION_FILE,
    FileDifference,
    Files,
    explain_orphan,
    find_differences,
    find_orphans,
    is_owned_file,
    render_kustomization,
)
from podplan.report.output_folder import format_summary, format_written, render_differences
from podplan.workspace.files import OutsideRoot, PathNotFound, find_root, is_in_repository, read_inside_root
from podplan.workspace.loader import Loader
from podplan.workspace.output_folder import FolderEntry, list_yaml_files, read_folder_file

MAX_DIFFED_LINES = 2_000


class RenderRun(NamedTuple):
    """The paths to render, their flags, and the location of the ``[[render]]`` table that states them."""

    paths: Sequence[str]
    flags: Mapping[str, Any]
    table_location: str = ""


class OutputFolder(NamedTuple):
    """An output folder, and the runs that render into it.

    ``table_location`` is that of the first ``[[render]]`` table that names it; such a folder contains no
    other files of podplan.
    """

    path: str
    runs: tuple[RenderRun, ...]
    table_location: str = ""


class Made(NamedTuple):
    """The rendered files of a folder, the number of jobs, the exit code, and the settings of the first
    run."""

    folder: OutputFolder
    request: RunSettings
    jobs: int
    code: int
    files: Files


class FolderState(NamedTuple):
    """A folder with the expected texts, its entries, and the reasons of orphaned files, by file name.

    ``sources`` are the files of the profiles that the texts are rendered from.
    """

    folder: OutputFolder
    request: RunSettings
    sources: Mapping[str, str]
    texts: Mapping[str, str]
    entries: Mapping[str, FolderEntry]
    orphan_reasons: Mapping[str, str]


def select_folders(paths: Sequence[str], output: str, flags: Mapping[str, Any]) -> list[OutputFolder]:
    """Return the folder of ``-o``, else those of the ``[[render]]`` tables; ``-e`` selects among these.

    Raises UsageError: if there are none.
    """
    if output:
        return [OutputFolder(output, (RenderRun(paths, flags),))]
    if paths:
        raise UsageError("paths want -o DIR, the folder that they are rendered into")
    config = load_configuration((os.curdir,), flags["config"], flags["isolated"])
    if not config.render:
        raise UsageError(
            "no [[render]] in the configuration says where rendered files are; write one, name another"
            " configuration with --config FILE, or render with -o DIR"
        )
    chosen_outputs = {
        os.path.realpath(table.output)
        for table in config.render
        if _renders_environment(table, flags["environments"])
    }
    if not chosen_outputs:
        names = ", ".join(dict.fromkeys(name for table in config.render for name in table.env))
        raise UsageError(f"no [[render]] is of this environment; there are {names or 'none with env'}")
    folders_by_path: dict[str, OutputFolder] = {}
    for table in config.render:
        output_path = os.path.realpath(table.output)
        if output_path in chosen_outputs:
            table_flags = {**flags, "environments": table.env, "config": config.file}
            known_folder = folders_by_path.get(output_path, OutputFolder(table.output, (), table.location))
            folders_by_path[output_path] = known_folder._replace(
                runs=(*known_folder.runs, RenderRun(table.paths, table_flags, table.location))
            )
    return list(folders_by_path.values())


def _renders_environment(table: RenderSettings, environments: Sequence[str]) -> bool:
    """Whether a table renders one of the environments, if there are any; ``all`` matches each."""
    return (
        not environments
        or "all" in (*environments, *table.env)
        or not set(environments).isdisjoint(table.env)
    )


def update_folders(output_folders: Sequence[OutputFolder], check: bool) -> int:
    """Write the folders, or with ``check`` report the differences and write nothing; return the exit code.

    Nothing is written unless all folders can be.

    Raises UsageError, OutsideRoot, LimitExceeded: if a folder cannot be rendered or written.
    """
    loaded_folders = [_render_folder(folder) for folder in output_folders]
    code = max(one.code for one in loaded_folders)
    if code != CLEAN:
        return code
    for one in loaded_folders:
        if not one.jobs:
            print_message(f"{_format_nothing_to_render(one.folder)}")
            return NO_INPUT
    states = [_inspect_folder(one) for one in loaded_folders]
    return max([_compare_folder(one) for one in states]) if check else _write_folders(states)


def _render_folder(folder: OutputFolder) -> Made:
    """Render the files of a folder.

    A usage error begins with the location of the table that caused it, if any.
    """
    files = Files()
    runs: list[LoadedPlans] = []
    for run in folder.runs:
        names = Names()

        def take(plan: JobPlan, settings: PipelineSettings, names: Names = names) -> None:
            names.add(plan)
            files.add(plan, settings)

        try:
            runs.append(load_job_plans(run.paths, frozenset({"profile"}), take, **run.flags))
        except (UsageError, PathNotFound) as error:
            if not run.table_location:
                raise
            hint = " (in [[render]]: env)" if isinstance(error, EnvironmentNotChosen) else ""
            raise type(error)(f"{run.table_location}: {error}{hint}") from None
    return Made(
        folder, runs[0].run_settings, sum(run.jobs for run in runs), max(run.code for run in runs), files
    )


def _format_nothing_to_render(folder: OutputFolder) -> str:
    message = "no JobProfile here, so nothing to render"
    if not folder.table_location:
        return message
    return f"{folder.table_location}: {message}; if that is meant, remove this table and {folder.path}"


def _inspect_folder(made: Made) -> FolderState:
    folder, settings, files = made.folder, made.request.settings, made.files
    _require_no_profiles_inside(folder.path, files.sources.values())
    files.demand_apart()
    try:
        existing = list_yaml_files(folder.path)
    except NotADirectoryError:
        culprit = find_non_folder(os.path.join(folder.path, KUSTOMIZATION_FILE))
        raise UsageError(f"cannot write {folder.path}: {culprit} is not a folder") from None
    writes_list = settings.gitops_tool == "flux"
    reader = (
        Loader(exclude=made.request.exclude)
        if _is_in_profile_repository(folder.path, files.sources.values())
        else None
    )
    find_reason = partial(_find_removal_reason, folder, settings, reader)
    orphaned = find_orphans(
        existing, {*files.texts, KUSTOMIZATION_FILE} if writes_list else files.texts, find_reason
    )
    if writes_list:
        if files.nameless:
            raise UsageError(
                f"{files.nameless} renders a CR without a name, and Flux applies nothing of a folder with"
                " one; write metadata.name in place of generateName"
            )
        kept_names = [
            name for name, entry in existing.items() if is_owned_file(entry.head) and name not in orphaned
        ]
        files.texts.add(
            KUSTOMIZATION_FILE, render_kustomization({*files.texts, *kept_names} - {KUSTOMIZATION_FILE})
        )
    return FolderState(folder, made.request, files.sources, files.texts, existing, orphaned)


def _find_removal_reason(
    folder: OutputFolder, settings: PipelineSettings, reader: Loader | None, name: str
) -> str | None:
    """Return why a file of podplan that is no longer rendered is removed; None if another run may own it.

    Without a reader its source is not examined.
    """
    removal_reason = None
    if reader is not None:
        path = os.path.join(folder.path, name)
        removal_reason = explain_orphan(path, read_folder_file(folder.path, name), settings, reader)
    return removal_reason or (
        f"{folder.table_location} has nothing that renders it" if folder.table_location else None
    )


def _is_in_profile_repository(path: str, sources: Iterable[str]) -> bool:
    """Whether a folder is in the repository of the profiles, to which paths in headers are relative."""
    return {find_root(source) for source in set(sources)} == {
        find_root(os.path.join(path, KUSTOMIZATION_FILE))
    }


def _require_no_profiles_inside(path: str, sources: Iterable[str]) -> None:
    """Raise UsageError for a profile inside the output folder."""
    inside = os.path.realpath(path)
    for source in dict.fromkeys(sources):
        if os.path.commonpath((os.path.realpath(source), inside)) == inside:
            raise UsageError(
                f"{source} is in {path}, which is for rendered files alone;"
                " a GitOps tool would apply the profile too"
            )


def _find_differences(state: FolderState, tracked: frozenset[str] | None) -> list[FileDifference]:
    read = partial(read_folder_file, state.folder.path)
    return find_differences(state.entries, state.texts, state.orphan_reasons, read, tracked)


def _compare_folder(state: FolderState) -> int:
    path = state.folder.path
    tracked = _list_tracked(path)
    folder_differences = _find_differences(state, tracked)
    write_escaped_stdout(
        render_differences(
            path, folder_differences, {each.name: _format_diff(state, each) for each in folder_differences}
        )
    )
    remedy = (
        "podplan render --update writes it"
        if state.folder.table_location
        else "the same without --check writes it"
    )
    remedy += ", git add takes it along" if tracked is not None else ""
    write_escaped_stderr(f"{format_summary(path, folder_differences, len(state.texts), remedy)}\n")
    return FINDINGS if folder_differences else CLEAN


def _write_folders(states: Sequence[FolderState]) -> int:
    for state in states:
        for difference in _find_differences(state, None):
            if difference.status == "in the way":
                raise UsageError(
                    f"cannot write {os.path.join(state.folder.path, difference.name)}:"
                    f" {difference.description}"
                )
    for state in states:
        path = state.folder.path
        changed = [name for name, text in state.texts.items() if replace_file(os.path.join(path, name), text)]
        for name in state.orphan_reasons:
            _remove_file(os.path.join(path, name))
        write_escaped_stderr(
            f"{format_written(path, len(changed), len(state.texts), len(state.orphan_reasons))}\n"
        )
    return CLEAN


def _remove_file(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise UsageError(f"cannot remove {path}: {describe_os_error(error)}") from None


def _list_tracked(path: str) -> frozenset[str] | None:
    """Return the names of the files in a folder that are in the git index; None outside a repository."""
    if not os.path.isdir(path) or not is_in_repository(path):
        return None
    from podplan.workspace.revisions import find_tracked_files

    return find_tracked_files(find_root(path), os.path.realpath(path))


def _format_diff(state: FolderState, difference: FileDifference) -> Sequence[str]:
    """Return the first lines of the diff of a stale file, if it contains no secret."""
    if difference.status != "stale":
        return ()
    path = os.path.join(state.folder.path, difference.name)
    current, text = read_folder_file(state.folder.path, difference.name), state.texts[difference.name]
    if not (difference.name == KUSTOMIZATION_FILE or _may_be_shown(state, difference.name, current)):
        return ("(no diff, for there may be a secret in it)",)
    old, new = current.decode(errors="replace").splitlines(), text.splitlines()
    if max(len(old), len(new)) > MAX_DIFFED_LINES:
        return (f"(no diff, for there are more than {MAX_DIFFED_LINES:,} lines)",)
    from podplan.tools.repository_tests.goldens import format_short_diff

    return format_short_diff(old, new, path)


def _may_be_shown(state: FolderState, name: str, current: bytes) -> bool:
    from podplan.tools.repository_tests.goldens import can_be_shown
    from podplan.yaml import parse_yaml

    profile, rendered = state.sources[name], os.path.join(state.folder.path, name)
    settings, reader = state.request.settings, Loader(exclude=state.request.exclude)
    try:
        texts = {profile: read_inside_root(find_root(profile), profile), rendered: current}
        return all(can_be_shown(parse_yaml(text, file), settings, reader) for file, text in texts.items())
    except (OSError, OutsideRoot, UsageError):
        return False
