"""Checking as the command line asks for it, however it was read."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

from podplan.checker.check import Result, check, check_sources
from podplan.cli.exit_codes import CLEAN, FINDINGS, INTERNAL
from podplan.cli.options import NO_INPUT_FLAGS, Request, request
from podplan.cli.progress import shown
from podplan.cli.reporting import Reports, reports, texts, write_reports, write_texts
from podplan.core.builtin_rules import LIMIT
from podplan.core.findings import Severity
from podplan.core.limits import BoundExceeded
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.workspace import Reader
from podplan.workspace.dependencies import FEWEST_FILES, traced
from podplan.workspace.file_loader import standard_input

if TYPE_CHECKING:
    from podplan.checker.base_revision import Before

# The flags of `podplan check` that ask for what is found, where nobody gives any.
NO_FLAGS: Mapping[str, Any] = {
    **NO_INPUT_FLAGS,
    "uid": "",
    "resumed": False,
    "select": (),
    "extend_select": (),
    "ignore": (),
    "preset": None,
    "preview": False,
    "severity": (),
    "no_ignores": False,
    "today": "",
    "baseline": "",
    "jobs": 0,
}


# Findings that say how this run went, and maybe not another one.
_OF_THE_RUN = (LIMIT, "POLICY001", "POLICY004")


def check_paths(paths: Sequence[str]) -> int:
    """`podplan check PATH…` without a flag; the exit code."""
    return check_and_report(paths, NO_FLAGS, reports("full", (), False, "auto"), "")


def check_and_report(
    paths: Sequence[str], flags: Mapping[str, Any], into: Reports, cached: str | None
) -> int:
    """Check, and print what there is to say; the exit code.

    ``cached`` is the folder of the cache: "" is the usual one, None is for no cache.
    """
    if cached is not None and (len(paths) >= FEWEST_FILES or any(map(os.path.isdir, paths))):
        from podplan.cli.check_cache import folder

        if place := folder(cached, paths):
            return _check_with(place, paths, flags, into)
    wanted = checking(paths, **flags)
    return report(run(paths, wanted, flags["stdin_filename"]), wanted, into)


def _check_with(folder: str, paths: Sequence[str], flags: Mapping[str, Any], into: Reports) -> int:
    """The same with a cache: what was said before is said again, if all it rests on is as it was."""
    from podplan.cli import check_cache

    wished = (into.format, [name for name, _ in into.files], into.style)
    key = check_cache.key(paths, flags, wished)
    said = check_cache.find(folder, key, len(into.files) + 1)
    if said is None:
        with traced() as trace:
            wanted = checking(paths, **flags)
            result = run(paths, wanted)
        if result.given_up or any(found.rule in _OF_THE_RUN for found in result.findings):
            return report(result, wanted, into)
        said = check_cache.Said(exit_code(result, wanted.fail_on), texts(result, into))
        if (
            check_cache.key(paths, flags, wished) == key
        ):  # else something came or went, or a day went by, meanwhile
            check_cache.keep(folder, key, said, trace)
    write_texts(said.texts, into)
    return said.code


def report(result: Result, wanted: Request, into: Reports) -> int:
    """Print the result; the exit code. Raises BoundExceeded where it is not that of all files."""
    write_reports(result, into)
    demand_all(result)
    return exit_code(result, wanted.fail_on)


def checking(paths: Sequence[str], jobs: int = 0, **flags: Any) -> Request:
    """The request of a command that checks: with every environment, by the clock of UTC."""
    wanted = request(paths, clock=time.strftime("%Y-%m-%d", time.gmtime()), **flags)
    settings = wanted.settings._replace(
        environments=wanted.settings.environments or "all",
        # What a paused job has no Pods for now, it has once it goes on.
        options=wanted.settings.options._replace(resumed=True),
    )
    return wanted._replace(settings=settings, jobs=jobs)


def run(
    paths: Sequence[str], wanted: Request, stdin_filename: str = "", before: Before | None = None
) -> Result:
    """The result for paths, or for standard input where the path is ``-``.

    ``before`` are the CRs to compare with, for rules about what a change does.
    """
    if list(paths) == ["-"]:
        source = standard_input(stdin_filename)
        return check_sources([source], wanted.settings, Reader(exclude=wanted.exclude))
    with shown() as watch:
        reader = Reader(exclude=wanted.exclude)
        return check(paths, wanted.settings, reader, wanted.exclude, watch, before, wanted.jobs)


def demand_all(result: Result) -> None:
    """Raises BoundExceeded where files were left out because they reached a bound."""
    if result.given_up:
        raise BoundExceeded("\npodplan: ".join(one.sentence for one in result.given_up))


def exit_code(result: Result, fail_on: Severity | None) -> int:
    """4 where a profile reached a limit, 1 where a finding is at least as severe as ``fail_on``, else 0."""
    if any(found.rule == LIMIT for found in result.findings):
        return INTERNAL
    bad = fail_on is not None and any(found.severity >= fail_on for found in result.findings)
    return FINDINGS if bad else CLEAN
