"""Folders of rendered files, for podplan render: those that are asked for, written or compared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from podplan.cli.exit_codes import CLEAN, FINDINGS, NOTHING
from podplan.cli.options import Request, configuration
from podplan.cli.output import not_a_folder, reason, replace_file, say, tell, write_text
from podplan.cli.plan_loader import Produced, produce
from podplan.config import RenderSettings
from podplan.core.errors import RequestError
from podplan.pipeline import Plan, Settings
from podplan.rendering import Names
from podplan.rendering.output_folder import (
    LIST,
    Difference,
    Files,
    differences,
    is_ours,
    listing,
    no_longer_rendered,
    orphans,
)
from podplan.report.output_folder import as_text, counted, written
from podplan.workspace import Reader
from podplan.workspace.files import NoSuchPath, OutsideRoot, in_repository, read_inside, root_of
from podplan.workspace.output_folder import Entry, content, entries

MAX_DIFFED_LINES = 2_000


class Run(NamedTuple):
    """Paths that are rendered, the flags for it, and the place of the ``[[render]]`` table that says so."""

    paths: Sequence[str]
    flags: Mapping[str, Any]
    place: str = ""


class Folder(NamedTuple):
    """A folder, and the runs that render into it.

    ``place`` is that of the first ``[[render]]`` table that names it; such a folder holds nothing else of
    podplan's.
    """

    path: str
    runs: tuple[Run, ...]
    place: str = ""


class Made(NamedTuple):
    """What is rendered for a folder: how many jobs, and with which exit code; the request is the first."""

    folder: Folder
    request: Request
    jobs: int
    code: int
    files: Files


class Found(NamedTuple):
    """A folder with the texts that are to be in it, what is there, and what of that is to go, by file name.

    ``sources`` are the files of the profiles that the texts are made from.
    """

    folder: Folder
    request: Request
    sources: Mapping[str, str]
    texts: Mapping[str, str]
    entries: Mapping[str, Entry]
    orphaned: Mapping[str, str]


def folders(paths: Sequence[str], output: str, flags: Mapping[str, Any]) -> list[Folder]:
    """The folder of ``-o``, else those of the ``[[render]]`` tables; ``-e`` chooses among these, each whole.

    Raises RequestError where there are none.
    """
    if output:
        return [Folder(output, (Run(paths, flags),))]
    if paths:
        raise RequestError("paths want -o DIR, the folder that they are rendered into")
    config = configuration((os.curdir,), flags["config"], flags["isolated"])
    if not config.render:
        raise RequestError(
            "no [[render]] in the configuration says where rendered files are; write one, name another"
            " configuration with --config FILE, or render with -o DIR"
        )
    chosen = {
        os.path.realpath(table.output) for table in config.render if _is_of(table, flags["environments"])
    }
    if not chosen:
        names = ", ".join(dict.fromkeys(name for table in config.render for name in table.env))
        raise RequestError(f"no [[render]] is of this environment; there are {names or 'none with env'}")
    found: dict[str, Folder] = {}
    for table in config.render:
        place = os.path.realpath(table.output)
        if place in chosen:
            own = {**flags, "environments": table.env, "config": config.file}
            before = found.get(place, Folder(table.output, (), table.place))
            found[place] = before._replace(runs=(*before.runs, Run(table.paths, own, table.place)))
    return list(found.values())


def _is_of(table: RenderSettings, environments: Sequence[str]) -> bool:
    """Whether a table renders one of the environments, if there are any; ``all`` is each of them."""
    return (
        not environments
        or "all" in (*environments, *table.env)
        or not set(environments).isdisjoint(table.env)
    )


def bring(asked: Sequence[Folder], check: bool) -> int:
    """Write the folders, or with ``check`` say how they differ and write nothing; the exit code.

    Nothing is written unless all can be. Raises RequestError, OutsideRoot and BoundExceeded.
    """
    made = [_made(folder) for folder in asked]
    code = max(one.code for one in made)
    if code != CLEAN:
        return code
    for one in made:
        if not one.jobs:
            say(f"{_nothing(one.folder)}")
            return NOTHING
    found = [_found(one) for one in made]
    return max([_compare(one) for one in found]) if check else _write(found)


def _made(folder: Folder) -> Made:
    """What is rendered for a folder. What is wrong with a request begins with the table that makes it, if one
    does."""
    files = Files()
    runs: list[Produced] = []
    for run in folder.runs:
        names = Names()

        def take(plan: Plan, settings: Settings, names: Names = names) -> None:
            names.add(plan)
            files.add(plan, settings)

        try:
            runs.append(produce(run.paths, frozenset({"profile"}), take, **run.flags))
        except (RequestError, NoSuchPath) as error:
            if not run.place:
                raise
            raise type(error)(f"{run.place}: {error}") from None
    return Made(folder, runs[0].request, sum(run.jobs for run in runs), max(run.code for run in runs), files)


def _nothing(folder: Folder) -> str:
    said = "no JobProfile here, so nothing to render"
    if not folder.place:
        return said
    return f"{folder.place}: {said}; if that is meant, remove this table and {folder.path}"


def _found(made: Made) -> Found:
    folder, settings, files = made.folder, made.request.settings, made.files
    _demand_apart(folder.path, files.sources.values())
    files.demand_apart()
    try:
        there = entries(folder.path)
    except NotADirectoryError:
        culprit = not_a_folder(os.path.join(folder.path, LIST))
        raise RequestError(f"cannot write {folder.path}: {culprit} is not a folder") from None
    listed = settings.gitops == "flux"
    reader = Reader(exclude=made.request.exclude) if _at_home(folder.path, files.sources.values()) else None
    gone = partial(_gone, folder, settings, reader)
    orphaned = orphans(there, {*files.texts, LIST} if listed else files.texts, gone)
    if listed:
        if files.nameless:
            raise RequestError(
                f"{files.nameless} renders a CR without a name, and Flux applies nothing of a folder with"
                " one; write metadata.name in place of generateName"
            )
        kept = [name for name, entry in there.items() if is_ours(entry.head) and name not in orphaned]
        files.texts.add(LIST, listing({*files.texts, *kept} - {LIST}))
    return Found(folder, made.request, files.sources, files.texts, there, orphaned)


def _gone(folder: Folder, settings: Settings, reader: Reader | None, name: str) -> str | None:
    """Why a file that podplan wrote, and does not write now, is not to stay; None where it may be another's.

    Without a reader nobody can look at what it was rendered from.
    """
    said = None
    if reader is not None:
        path = os.path.join(folder.path, name)
        said = no_longer_rendered(path, content(folder.path, name), settings, reader)
    return said or (f"{folder.place} has nothing that renders it" if folder.place else None)


def _at_home(path: str, sources: Iterable[str]) -> bool:
    """Whether a folder is in the repository of the profiles: headers name files as seen from its root."""
    return {root_of(source) for source in set(sources)} == {root_of(os.path.join(path, LIST))}


def _demand_apart(path: str, sources: Iterable[str]) -> None:
    """Raises RequestError for a profile in the folder that is rendered into."""
    inside = os.path.realpath(path)
    for source in dict.fromkeys(sources):
        if os.path.commonpath((os.path.realpath(source), inside)) == inside:
            raise RequestError(
                f"{source} is in {path}, which is for rendered files alone;"
                " a GitOps tool would apply the profile too"
            )


def _differences(one: Found, tracked: frozenset[str] | None) -> list[Difference]:
    read = partial(content, one.folder.path)
    return differences(one.entries, one.texts, one.orphaned, read, tracked)


def _compare(one: Found) -> int:
    path = one.folder.path
    tracked = _tracked(path)
    found = _differences(one, tracked)
    write_text(as_text(path, found, {each.name: _diff(one, each) for each in found}))
    again = "podplan render --update writes it" if one.folder.place else "the same without --check writes it"
    again += ", git add takes it along" if tracked is not None else ""
    tell(f"{counted(path, found, len(one.texts), again)}\n")
    return FINDINGS if found else CLEAN


def _write(found: Sequence[Found]) -> int:
    for one in found:
        for each in _differences(one, None):
            if each.how == "in the way":
                raise RequestError(f"cannot write {os.path.join(one.folder.path, each.name)}: {each.what}")
    for one in found:
        path = one.folder.path
        changed = [name for name, text in one.texts.items() if replace_file(os.path.join(path, name), text)]
        for name in one.orphaned:
            _remove(os.path.join(path, name))
        tell(f"{written(path, len(changed), len(one.texts), len(one.orphaned))}\n")
    return CLEAN


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise RequestError(f"cannot remove {path}: {reason(error)}") from None


def _tracked(path: str) -> frozenset[str] | None:
    """The names of the files in a folder that git has in its index; None outside a repository."""
    if not os.path.isdir(path) or not in_repository(path):
        return None
    from podplan.workspace.revisions import tracked

    return tracked(root_of(path), os.path.realpath(path))


def _diff(one: Found, each: Difference) -> Sequence[str]:
    """The first lines of what a stale file has and has not, where no secret may be among them."""
    if each.how != "stale":
        return ()
    path = os.path.join(one.folder.path, each.name)
    now, text = content(one.folder.path, each.name), one.texts[each.name]
    if not (each.name == LIST or _may_be_shown(one, each.name, now)):
        return ("(no diff, for there may be a secret in it)",)
    old, new = now.decode(errors="replace").splitlines(), text.splitlines()
    if max(len(old), len(new)) > MAX_DIFFED_LINES:
        return (f"(no diff, for there are more than {MAX_DIFFED_LINES:,} lines)",)
    from podplan.tools.repository_tests.goldens import short_diff

    return short_diff(old, new, path)


def _may_be_shown(one: Found, name: str, now: bytes) -> bool:
    from podplan.tools.repository_tests.goldens import may_be_shown
    from podplan.yaml import read

    profile, rendered = one.sources[name], os.path.join(one.folder.path, name)
    settings, reader = one.request.settings, Reader(exclude=one.request.exclude)
    try:
        texts = {profile: read_inside(root_of(profile), profile), rendered: now}
        return all(may_be_shown(read(text, file), settings, reader) for file, text in texts.items())
    except (OSError, OutsideRoot, RequestError):
        return False
